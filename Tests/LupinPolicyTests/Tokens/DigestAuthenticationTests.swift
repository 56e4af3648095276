// How Digest challenges are answered: the very texts that are hashed, and the field that results.

import LupinCore
import LupinPolicy
import Testing

/// A hash function of known inputs; it keeps what it was asked for.
private final class HashTable {
    let outputs: [String: String]
    private(set) var inputs: [String] = []

    init(_ outputs: [String: String] = [:]) { self.outputs = outputs }

    /// The known output, or one byte that counts the inputs.
    func digest(_ function: DigestAlgorithm.Hash, _ input: [UInt8]) -> [UInt8] {
        let text = String(decoding: input, as: UTF8.self)
        inputs.append(text)
        guard let hex = outputs[text] else { return [UInt8(truncatingIfNeeded: inputs.count)] }
        let digits = hex.utf8.compactMap(\.hexDigit)
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

struct DigestAuthenticationTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    private static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"

    private func challenges(_ values: String...) -> [AuthenticationChallenge] {
        values.flatMap { AuthenticationChallenge.challenges(in: $0) }
    }

    private func session(_ values: String...) throws -> DigestSession {
        let all = values.flatMap { AuthenticationChallenge.challenges(in: $0) }
        return try #require(DigestSession(all))
    }

    private func field(
        _ session: inout DigestSession,
        user: String = "ann",
        cnonce: String = "cn",
        content: [UInt8]? = nil,
        _ table: HashTable = HashTable()
    ) throws -> String {
        let field = session.field(
            method: "GET",
            uri: "/x",
            content: content,
            credentials: try UserPassword(user: user, password: "pw"),
            cnonce: cnonce,
            hash: table.digest
        )
        return try #require(field)
    }

    @Test func `a realm is hashed and sent back byte for byte`() throws {
        let realm: [UInt8] = [0x4B, 0xFC, 0x63, 0x68, 0x65]
        var fields = FieldSection()
        fields.add(name: "WWW-Authenticate", value: "Digest realm=\"R\", nonce=\"n\"")
        let line = fields.lines[0]
        let quoted = fields.storage[line.value.range].firstIndex(of: 0x52)
        let index = try #require(quoted)
        fields.storage.replaceSubrange(index...index, with: realm)
        fields.lines[0].value = ByteRange(
            start: line.value.range.lowerBound,
            count: line.value.range.count + realm.count - 1
        )
        var session = try #require(DigestSession(AuthenticationChallenge.challenges(in: fields)))
        var inputs: [[UInt8]] = []
        let field = session.field(
            method: "GET",
            uri: "/x",
            content: [],
            credentials: try UserPassword(user: "ann", password: "pw"),
            cnonce: "cn"
        ) { _, bytes in
            inputs.append(bytes)
            return [1]
        }
        #expect(inputs.first == Array("ann:".utf8) + realm + Array(":pw".utf8))
        var sent = FieldSection()
        sent.set(name: "Authorization", octets: try #require(field))
        let bytes = Array(sent.storage[sent.lines[0].value.range])
        let expected = Array("realm=\"".utf8) + realm + Array("\"".utf8)
        #expect(bytes.split(separator: expected).count == 2)
    }

    // MARK: RFC 7616 §3.9

    @Test(
        arguments: [
            (
                "MD5", "3d78807defe7de2157e2b0b6573a855f", "39aff3a2bab6126f332b942af96d3366",
                "8ca523f5e9506fed4657c9700eebdbec"
            ),
            (
                "SHA-256",
                "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232",
                "9a3fdae9a622fe8de177c24fa9c070f2b181ec85e15dcbdc32e10c82ad450b04",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
            ),
        ]
    )
    func `the first example of RFC 7616`(
        algorithm: String,
        secret: String,
        request: String,
        response: String
    ) throws {
        var session = try session(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\","
                + " algorithm=\(algorithm), nonce=\"\(Self.nonce)\", opaque=\"\(Self.opaque)\""
        )
        let last = "\(secret):\(Self.nonce):00000001:\(Self.cnonce):auth:\(request)"
        let table = HashTable([
            "Mufasa:http-auth@example.org:Circle of Life": secret,
            "GET:/dir/index.html": request, last: response,
        ])
        let field = session.field(
            method: "GET",
            uri: "/dir/index.html",
            content: [],
            credentials: try UserPassword(user: "Mufasa", password: "Circle of Life"),
            cnonce: Self.cnonce,
            hash: table.digest
        )
        #expect(table.inputs.last == last)
        #expect(
            field == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\","
                + " uri=\"/dir/index.html\", algorithm=\(algorithm), nonce=\"\(Self.nonce)\","
                + " nc=00000001, cnonce=\"\(Self.cnonce)\", qop=auth, response=\"\(response)\","
                + " opaque=\"\(Self.opaque)\""
        )
    }

    @Test func `a hashed user as in the second example of RFC 7616`() throws {
        let nonce = "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
        var session = try session(
            "Digest realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256,"
                + " nonce=\"\(nonce)\", opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDssOS\","
                + " charset=UTF-8, userhash=true"
        )
        let cnonce = "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm"
        let table = HashTable([
            "J\u{E4}s\u{F8}n Doe:api@example.org:Secret, or not?": "aa",
            "GET:/doe.json": "bb", "J\u{E4}s\u{F8}n Doe:api@example.org": "cc",
            "aa:\(nonce):00000001:\(cnonce):auth:bb": "dd",
        ])
        let user = "J\u{E4}s\u{F8}n Doe"
        let field = session.field(
            method: "GET",
            uri: "/doe.json",
            content: [],
            credentials: try UserPassword(user: user, password: "Secret, or not?"),
            cnonce: cnonce,
            hash: table.digest
        )
        #expect(
            field == "Digest username=\"cc\", realm=\"api@example.org\", uri=\"/doe.json\","
                + " algorithm=SHA-512-256, nonce=\"\(nonce)\", nc=00000001,"
                + " cnonce=\"\(cnonce)\", qop=auth, response=\"dd\","
                + " opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDssOS\", userhash=true"
        )
    }

    // MARK: Forms

    @Test func `a challenge without qop is answered as RFC 2069 wants it`() throws {
        var session = try session("Digest realm=\"r\", nonce=\"n\"")
        let table = HashTable(["ann:r:pw": "aa", "GET:/x": "bb", "aa:n:bb": "cc"])
        #expect(
            try field(&session, table)
                == "Digest username=\"ann\", realm=\"r\", uri=\"/x\", nonce=\"n\", response=\"cc\""
        )
    }

    @Test func `a session is bound to the first nonce and cnonce`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth, algorithm=md5-SESS")
        let table = HashTable([
            "ann:r:pw": "aa", "aa:n:c1": "ee", "GET:/x": "bb",
            "ee:n:00000001:c1:auth:bb": "c1", "ee:n:00000002:c1:auth:bb": "c2",
        ])
        let first = try field(&session, cnonce: "c1", table)
        #expect(first.contains("algorithm=MD5-sess"))
        #expect(first.contains("response=\"c1\""))
        let second = try field(&session, cnonce: "c2", table)
        #expect(second.contains("nc=00000002, cnonce=\"c1\""))
        #expect(second.contains("response=\"c2\""))
    }

    @Test(
        arguments: [
            ("a\"b\\c", "username=\"a\\\"b\\\\c\""),
            ("J\u{E4}s\u{F8}n Doe", "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"),
            ("'*%(é", "username*=UTF-8''%27%2A%25%28%C3%A9"),
        ]
    )
    func `a user is quoted, or encoded where quotes cannot hold it`(
        user: String,
        result: String
    ) throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        let table = HashTable()
        #expect(try field(&session, user: user, table).hasPrefix("Digest \(result), realm="))
        // Hashed as it is.
        #expect(table.inputs.first == "\(user):r:pw")
    }

    @Test func `what the server said comes back in quotes of its own`() throws {
        var session = try session(
            "Digest realm=\"a\\\"b\", nonce=\"\\\\n\", opaque=\"o\", qop=auth"
        )
        let table = HashTable()
        let field = try field(&session, table)
        #expect(field.contains("realm=\"a\\\"b\""))
        #expect(field.contains("nonce=\"\\\\n\""))
        #expect(table.inputs.first == "ann:a\"b:pw")
    }

    // MARK: Choice

    @Test(
        arguments: [
            (
                [
                    "Digest realm=r, nonce=a, qop=auth",
                    "Digest realm=r, nonce=b, qop=auth, algorithm=SHA-256",
                ], "b"
            ),
            (
                [
                    "Digest realm=r, nonce=a, algorithm=SHA-256, qop=auth, "
                        + "Digest realm=r, nonce=b, qop=auth"
                ], "a"
            ),
            (["Digest realm=r, nonce=a", "Digest realm=r, nonce=b, qop=auth"], "b"),
            (["Digest realm=r, nonce=a, qop=auth", "Digest realm=s, nonce=b, qop=auth"], "a"),
            (["Digest realm=r, nonce=a, qop=\"auth-int\"", "Digest realm=r, nonce=b"], "b"),
            (
                [
                    "Digest realm=r, nonce=a, qop=auth",
                    "Digest realm=r, nonce=b, algorithm=SHA-512-256, qop=auth",
                    "Digest realm=r, nonce=c, algorithm=SHA-256, qop=auth",
                ], "b"
            ),
            (
                [
                    "Digest realm=r, nonce=a, algorithm=SHA-512, qop=auth",
                    "Digest realm=r, nonce=b",
                ], "b"
            ),
        ]
    )
    func `the strongest challenge is answered, and of equals the first`(
        values: [String],
        nonce: String
    ) {
        let all = values.flatMap { AuthenticationChallenge.challenges(in: $0) }
        #expect(DigestChallenge.best(all)?.nonce == nonce)
    }

    @Test(arguments: [
        "Basic realm=r", "Digest realm=r", "Digest nonce=n", "Digest realm=r, nonce=\"\"",
        "Digest realm=r, nonce=n, algorithm=SHA-512", "Digest realm=r, nonce=n, qop=auth-conf",
        "Digest realm=r, nonce=n, algorithm=MD5-sess",
        "Digest realm=\"a\u{1}b\", nonce=n", "Digest realm=r, nonce=\"a\\\u{D}\\\u{A}b\"",
        "Digest realm=r, nonce=n, opaque=\"\u{7F}\"", "",
    ])
    func `what cannot be answered is no session`(value: String) {
        #expect(DigestSession(challenges(value)) == nil)
    }

    @Test(arguments: [("", "d41d"), ("hello", "5d41")])
    func `where auth-int alone is offered the content is protected`(
        content: String,
        hash: String
    ) throws {
        var session = try session("Digest realm=r, nonce=n, qop=\"auth-int\"")
        let table = HashTable([
            "ann:r:pw": "aa", content: hash, "GET:/x:\(hash)": "bb",
            "aa:n:00000001:cn:auth-int:bb": "cc",
        ])
        let field = try field(&session, content: Array(content.utf8), table)
        #expect(field.contains("nc=00000001, cnonce=\"cn\", qop=auth-int, response=\"cc\""))
    }

    @Test func `a content that is not known can't be protected, and uses no count`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth-int")
        let unknown = session.field(
            method: "POST",
            uri: "/x",
            content: nil,
            credentials: try UserPassword(user: "ann", password: "pw"),
            cnonce: "cn",
            hash: HashTable().digest
        )
        #expect(unknown == nil)
        #expect(try field(&session, content: []).contains("nc=00000001"))
    }

    // MARK: Going on

    @Test func `the nonce count goes up with every answer`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        for i in 1...16 {
            let number = String(i, radix: 16)
            let padded = String(repeating: "0", count: 8 - number.count) + number
            #expect(try field(&session).contains("nc=\(padded),"))
        }
        #expect(session.mark.nonce == "n")
        #expect(session.mark.count == 16)
    }

    @Test func `a request without an answer is sent again with one`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        let all = challenges("Digest realm=r, nonce=m, qop=auth")
        #expect(session.challenged(all, answered: nil) == .replay)
        #expect(try field(&session).contains("nonce=\"m\", nc=00000001"))
        #expect(session.challenged(challenges("Basic realm=r"), answered: nil) == .deliver)
    }

    @Test func `a stale nonce is exchanged at once`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        _ = try field(&session)
        let all = challenges("Digest realm=r, nonce=m, qop=auth, stale=TRUE")
        #expect(session.challenged(all, answered: session.mark) == .replay)
        #expect(try field(&session).contains("nonce=\"m\", nc=00000001"))
    }

    @Test func `a fresh nonce that is refused means a wrong password`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        _ = try field(&session)
        let all = challenges("Digest realm=r, nonce=m, qop=auth")
        #expect(session.challenged(all, answered: session.mark) == .deliver)
        let same = challenges("Digest realm=r, nonce=m, qop=auth, stale=false")
        _ = try field(&session)
        _ = try field(&session)
        #expect(session.challenged(same, answered: session.mark) == .deliver)
    }

    @Test func `a used nonce that is refused may have been too old`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        _ = try field(&session)
        _ = try field(&session)
        let all = challenges("Digest realm=r, nonce=m, qop=auth")
        #expect(session.challenged(all, answered: session.mark) == .replay)
    }

    @Test func `the server may name the next nonce`() throws {
        var session = try session("Digest realm=r, nonce=n, qop=auth")
        _ = try field(&session)
        session.note(authenticationInfo: "qop=auth, rspauth=\"ab\", nextnonce=\"m\"")
        #expect(try field(&session).contains("nonce=\"m\", nc=00000001"))
        for value in ["", "nextnonce=\"\"", "nextnonce=\"m\"", "nextnonce=\"a\\\u{A}b\"", "x"] {
            session.note(authenticationInfo: value)
            #expect(session.mark.nonce == "m")
            #expect(session.mark.count == 1)
        }
    }
}
