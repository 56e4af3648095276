// That no authority vouches for a host which its own certificate or one above it rules out.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct NameConstraintsTests {
    /// Subtrees of an authority, the names of a leaf below it, and the host that is asked for.
    private struct Row: Sendable, CustomTestStringConvertible {
        var permitted: [CertificateBuilder.Subtree] = []
        var excluded: [CertificateBuilder.Subtree] = []
        var names: [String]
        var host: String
        var isAllowed: Bool

        var testDescription: String {
            "\(permitted) but \(excluded): \(host) by \(names)"
        }
    }

    private static func row(
        permitted: String...,
        excluded: String...,
        names: String...,
        host: String,
        _ isAllowed: Bool
    ) -> Row {
        Row(
            permitted: permitted.map(subtree),
            excluded: excluded.map(subtree),
            names: names,
            host: host,
            isAllowed: isAllowed
        )
    }

    private static func subtree(_ text: String) -> CertificateBuilder.Subtree {
        CIDR(text).map { .addresses($0) } ?? .dns(text)
    }

    private static let rows: [Row] = [
        row(permitted: "example.com", names: "*.example.com", host: "a.example.com", true),
        row(permitted: ".example.com", names: "*.example.com", host: "a.example.com", true),
        row(permitted: "EXAMPLE.com", names: "*.example.com", host: "a.example.com", true),
        row(permitted: "", names: "a.example.com", host: "a.example.com", true),
        row(permitted: "10.0.0.0/8", names: "a.example.com", host: "a.example.com", true),
        row(permitted: "10.0.0.0/8", names: "10.1.2.3", host: "10.1.2.3", true),
        row(excluded: "b.example.com", names: "a.example.com", host: "a.example.com", true),
        row(excluded: "b.example.org", names: "*.example.com", host: "b.example.com", true),
        row(excluded: "x.b.example.com", names: "*.example.com", host: "a.example.com", true),
        row(excluded: ".b.example.com", names: "*.example.com", host: "b.example.com", true),
        row(excluded: "ample.com", names: "*.example.com", host: "a.example.com", true),
        row(excluded: "10.0.0.0/8", names: "*.example.com", host: "a.example.com", true),
        row(excluded: "10.0.0.0/8", names: "192.0.2.1", host: "192.0.2.1", true),

        // A wildcard that can stand for an excluded name, whatever host is asked for.
        row(excluded: "b.example.com", names: "*.example.com", host: "b.example.com", false),
        row(excluded: "b.example.com", names: "*.example.com", host: "a.example.com", false),
        row(excluded: "B.Example.COM", names: "*.example.com", host: "b.example.com", false),
        row(excluded: "b.example.com", names: "*.EXAMPLE.com", host: "b.example.com", false),
        row(
            permitted: "example.com",
            excluded: "b.example.com",
            names: "*.example.com",
            host: "b.example.com",
            false
        ),
        row(
            excluded: "b.example.com",
            names: "a.example.com",
            "*.example.com",
            host: "a.example.com",
            false
        ),
        row(permitted: "a.example.com", names: "*.example.com", host: "a.example.com", false),
        row(excluded: "example.com", names: "*.example.com", host: "a.example.com", false),
        row(excluded: "", names: "a.example.com", host: "a.example.com", false),
        row(permitted: "10.0.0.0/8", names: "11.1.2.3", host: "11.1.2.3", false),
        row(permitted: "10.0.0.0/8", names: "2001:db8::1", host: "2001:db8::1", false),
        row(excluded: "2001:db8::/32", names: "2001:db8::1", host: "2001:db8::1", false),
    ]

    @Test(arguments: rows, [false, true])
    private func `an authority names what its constraints leave it`(
        row: Row,
        areRoots: Bool
    ) throws {
        let constrain: (inout CertificateBuilder) -> Void = { builder in
            builder.nameConstraints = .init(permitted: row.permitted, excluded: row.excluded)
        }
        let root = try MintedAuthority.root(now: trustNow) { if areRoots { constrain(&$0) } }
        let intermediate = try root.intermediate { if !areRoots { constrain(&$0) } }
        let leaf = try intermediate.leaf { builder in
            builder.alternativeNames = row.names.map { name in
                IPAddress(name).map { .address($0) } ?? .dns(name)
            }
        }
        var sample = TrustSample(leaf, root)
        sample.host = row.host
        let problem = try sample.path().problem
        #expect(problem?.kind == (row.isAllowed ? nil : .constraint), "\(problem?.sentence ?? "")")
    }

    @Test func `the sentence says which certificate rules out which names`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let intermediate = try root.intermediate("Branch") {
            $0.nameConstraints = names(excluded: "b.example.com")
        }
        let sample = TrustSample(try intermediate.leaf("*.example.com"), root)
        #expect(
            try sample.path().problem?.sentence
                == "The certificate “CN=Branch” constrains names, and excludes some of what"
                + " *.example.com stands for."
        )
    }

    @Test func `an unconstrained twin of a constrained authority is found`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let good = try root.intermediate("Twin")
        let bad = try root.intermediate("Twin", key: good.key) {
            $0.nameConstraints = names(excluded: "b.example.com")
        }
        var sample = TrustSample(try good.leaf("*.example.com"), root)
        sample.presented.insert(bad.certificate.der, at: 1)
        let path = try sample.path().get()
        #expect(path.map(\.encoding).contains(good.certificate.der))
    }

    @Test func `a host that the certificate is not for is told of as that`() throws {
        let root = try MintedAuthority.root(now: trustNow) {
            $0.nameConstraints = names("example.com")
        }
        var sample = TrustSample(try root.leaf("www.example.com"), root)
        sample.host = "other.example"
        let problem = TrustPolicy.system(host: true).evaluate(try sample.trust()).problem
        #expect(problem?.kind == .host)
    }

    // MARK: Encodings

    private static func encoding(
        permitted: [[UInt8]]? = nil,
        excluded: [[UInt8]]? = nil
    ) -> [UInt8] {
        var fields: [[UInt8]] = []
        if let permitted { fields.append(DEREncoding.value(tag: 0xA0, permitted.flatMap(\.self))) }
        if let excluded { fields.append(DEREncoding.value(tag: 0xA1, excluded.flatMap(\.self))) }
        return DEREncoding.sequence(fields)
    }

    private static func base(_ tag: UInt8, _ contents: [UInt8], _ more: [UInt8]...) -> [UInt8] {
        DEREncoding.sequence([DEREncoding.value(tag: tag, contents)] + more)
    }

    private static func domain(_ text: String) -> [UInt8] { base(0x82, Array(text.utf8)) }

    private static let sound: [[UInt8]] = [
        encoding(permitted: [domain("example.com")]), encoding(excluded: [domain("")]),
        encoding(permitted: [domain(".example.com")], excluded: [domain("my_host.example.com")]),
        encoding(permitted: [base(0x87, [10, 0, 0, 0, 255, 0, 0, 0])]),
        encoding(permitted: [base(0x87, [UInt8](repeating: 0, count: 32))]),
        encoding(permitted: [base(0x81, Array("example.com".utf8)), base(0xA4, [0x30, 0])]),
        // "minimum MUST be zero" is said though it is the default.
        encoding(permitted: [base(0x82, [0x61], [0x80, 1, 0])]),
        encoding(excluded: (0..<1024).map { domain("host-\($0).example.com") }),
    ]

    private static let unsound: [[UInt8]] = [
        [], [0x30], [0x30, 0], [0x31, 0], encoding(permitted: []), encoding(excluded: []),
        encoding(permitted: [], excluded: []),
        encoding(permitted: [], excluded: [domain("example.com")]),
        encoding(permitted: [domain("example.com")], excluded: []),
        // The fields the other way round, one twice, and one that there is not.
        DEREncoding.sequence([
            DEREncoding.value(tag: 0xA1, domain("a")), DEREncoding.value(tag: 0xA0, domain("a")),
        ]),
        DEREncoding.sequence([
            DEREncoding.value(tag: 0xA0, domain("a")), DEREncoding.value(tag: 0xA0, domain("b")),
        ]),
        DEREncoding.sequence([DEREncoding.value(tag: 0xA2, domain("a"))]),
        encoding(permitted: [domain("a")]) + [0],
        encoding(permitted: [DEREncoding.sequence([])]),
        encoding(permitted: [base(0x82, [0x61], [0x80, 1, 1])]),
        encoding(permitted: [base(0x82, [0x61], [0x81, 1, 1])]),
        encoding(permitted: [domain("*.example.com")]), encoding(excluded: [domain("a b")]),
        encoding(excluded: [domain("example.com.")]), encoding(excluded: [domain(".")]),
        encoding(excluded: [domain("a..b")]),
        // Constructed, where RFC 5280 has a primitive string.
        encoding(excluded: [base(0xA2, [0x16, 1, 0x61])]), encoding(excluded: [base(0x89, [1])]),
        encoding(permitted: [base(0x87, [127, 0, 0, 1])]),
        encoding(permitted: [base(0x87, [10, 0, 0, 0, 255, 0, 255, 0])]),
        encoding(permitted: [base(0x87, [10, 0, 0, 0, 254, 255, 0, 0])]),
        encoding(excluded: (0..<1025).map { domain("host-\($0).example.com") }),
    ]

    @Test func `constraints are read whole or not at all`() {
        for encoding in Self.sound { #expect(NameConstraints(encoding) != nil, "\(encoding)") }
        for encoding in Self.unsound { #expect(NameConstraints(encoding) == nil, "\(encoding)") }
    }

    private typealias Ruling = (permitted: String?, excluded: String?, NameConstraints.Ruling)

    private static let rulings: [Ruling] = [
        ("example.com", nil, .allowed), ("b.example.com", nil, .allowed),
        (".example.com", nil, .allowed), ("", nil, .allowed), ("COM", nil, .allowed),
        (nil, "c.example.com", .allowed), (nil, "a.b.example.com", .allowed),
        (nil, ".b.example.com", .allowed), (nil, "ample.com", .allowed),
        ("c.example.com", nil, .notPermitted), (".b.example.com", nil, .notPermitted),
        ("ample.com", nil, .notPermitted), ("a.b.example.com", nil, .notPermitted),
        (nil, "example.com", .excluded), (nil, "B.Example.Com", .excluded), (nil, "", .excluded),
        ("example.com", "b.example.com", .excluded), ("c.example.com", "com", .excluded),
    ]

    @Test(arguments: rulings)
    private func `a host is ruled on by its domains`(ruling: Ruling) throws {
        let encoding = Self.encoding(
            permitted: ruling.permitted.map { [Self.domain($0)] },
            excluded: ruling.excluded.map { [Self.domain($0)] }
        )
        let constraints = try #require(NameConstraints(encoding))
        #expect(constraints.ruling(on: try #require(Host("b.example.com"))) == ruling.2)
        // Domains say nothing about addresses.
        #expect(constraints.ruling(on: try #require(Host("192.0.2.1"))) == .allowed)
    }

    @Test func `an address is ruled on by its networks`() throws {
        let ten = Self.base(0x87, [10, 0, 0, 0, 255, 0, 0, 0])
        let part = Self.base(0x87, [10, 1, 128, 0, 255, 255, 128, 0])
        let encoding = Self.encoding(permitted: [ten], excluded: [part])
        let constraints = try #require(NameConstraints(encoding))
        let expected: [(String, NameConstraints.Ruling)] = [
            ("10.1.127.255", .allowed), ("10.255.0.1", .allowed), ("10.1.128.0", .excluded),
            ("10.1.255.255", .excluded), ("11.0.0.1", .notPermitted),
            ("2001:db8::1", .notPermitted), ("b.example.com", .allowed),
        ]
        for (text, ruling) in expected {
            #expect(constraints.ruling(on: try #require(Host(text))) == ruling, "\(text)")
        }
    }

    @Test func `constraints that are cut off or changed anywhere do no harm`() throws {
        let host = try #require(Host("b.example.com"))
        for encoding in Self.sound where encoding.count < 200 {
            for count in encoding.indices {
                #expect(NameConstraints(Array(encoding.prefix(count))) == nil)
            }
            for i in encoding.indices {
                for byte: UInt8 in [0, 1, 0x7F, 0x80, 0x84, 0xFF] {
                    var changed = encoding
                    changed[i] = byte
                    _ = NameConstraints(changed)?.ruling(on: host)
                    _ = NameConstraints(changed)?.excludeSome(of: "*.example.com")
                }
            }
        }
    }

    private static let malformed: [[UInt8]] = [
        [0x30, 0], [0x30, 2, 0xA0, 0], [0x30, 4, 0xA0, 0, 0xA1, 0],
    ]

    @Test(arguments: malformed, [false, true])
    func `empty constraints are refused on every certificate`(
        encoding: [UInt8],
        areRoots: Bool
    ) throws {
        let part = CertificateBuilder.Extension(
            identifier: "2.5.29.30",
            isCritical: true,
            der: encoding
        )
        let root = try MintedAuthority.root(now: trustNow) {
            if areRoots { $0.extensions = [part] }
        }
        let intermediate = try root.intermediate { if !areRoots { $0.extensions = [part] } }
        let sample = TrustSample(try intermediate.leaf("www.example.com"), root)
        let problem = try sample.path().problem
        #expect(problem?.kind == .constraint)
        #expect(problem?.sentence.contains("malformed") == true)
    }
}
