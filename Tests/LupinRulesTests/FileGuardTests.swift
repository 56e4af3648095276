// A rules file that says which credentials requests get is nobody else's to change.
import LupinCore
import LupinRules
import Testing

struct FileGuardTests {
    /// The problems of a file; `named` lets others change files that it names.
    private func errors(
        _ text: String,
        _ standings: [FileStanding],
        named: [String: FileStanding] = [:]
    ) -> [Diagnostic] {
        var surroundings = Surroundings(
            environment: ["T": "secret-token", "PATH": "/opt/tools:/usr/bin"],
            home: "/users/ann",
            directory: "/etc/lupin",
            standings: standings,
            readFile: { path throws(FileProblem) in
                guard let contents = SampleFile.all[path] else { throw FileProblem("none") }
                return contents
            }
        )
        surroundings.isDirectory = { _ in true }
        surroundings.isFile = { $0 != "/opt/tools/vault" }
        surroundings.openWay = { named[$0].map { [$0] } ?? [] }
        return RulesFile.decode(
            text: "lupin: 1\n" + text,
            fileName: "lupin.yaml",
            surroundings: surroundings
        ).errors
    }

    private static let open = FileStanding(
        path: "/etc/lupin.yaml",
        isDirectory: false,
        isWritableByOthers: true
    )
    private static let foreign = FileStanding(
        path: "/srv",
        isDirectory: true,
        isOwnedByUserOrRoot: false
    )

    private static let attaching = [
        "tokens: {t: {bearer: \"${env:T}\"}}\nrules: [{match: a.test, request: [{auth: t}]}]",
        "tokens: {t: {bearer: literal-token}}",
        "tokens: {t: {command: [vault, read]}}",
        "rules: [{match: a.test, request: [{set: {X-A: \"${secret:T}\"}}]}]",
        "rules: [{match: a.test, cookies: {jar: jar.txt}}]",
        "rules: [{match: a.test, client_cert: {cert: cert.pem, key: key.pem}}]",
        "upstream: {tls: {client_cert: {cert: cert.pem, key: key.pem}}}",
        "upstream: {proxy: \"http://me:${secret:T}@p.test:3128\"}",
        "tokens: {t: {bearer: literal-token}}\nexec: {env: {T: t}}",
    ]

    @Test(arguments: attaching)
    func `it is refused if others may write it, or its folder is another user's`(text: String) {
        #expect(errors(text, []).isEmpty)
        for standing in [Self.open, Self.foreign] {
            let found = errors(text, [standing])
            #expect(found.map(\.code) == [.file], "\(found.map(\.message))")
            #expect(found.first?.message.contains(standing.path) == true)
            #expect(found.first?.hint?.contains("ch") == true)
        }
    }

    @Test(
        arguments: [
            "rules: [{match: a.test, respond: {status: 403}}]", "log: {level: exchange}",
            "rules: [{match: a.test, request: [{set: {X-A: b}}]}]",
        ]
    )
    func `a file that attaches nothing may be anybody's`(text: String) {
        #expect(errors(text, [Self.open, Self.foreign]).isEmpty)
    }

    private static let naming: [(file: String, text: String)] = [
        (
            "/etc/lupin/hosts.txt",
            "tokens: {t: {bearer: literal-token}}\n"
                + "rules: [{match: {host: {file: hosts.txt}}, request: [{auth: t}]}]"
        ),
        (
            "/etc/lupin/cert.pem",
            "tokens: {t: {bearer: literal-token}}\n"
                + "trust: {t: {certificates: [cert.pem]}}\n"
                + "rules: [{match: a.test, trust: t, request: [{auth: t}]}]"
        ),
        (
            "/etc/lupin/cert.pem",
            "tokens: {t: {bearer: literal-token}}\nupstream: {tls: {roots: [cert.pem]}}"
        ),
        (
            "/etc/lupin/key.pem",
            "rules: [{match: a.test, client_cert: {cert: cert.pem, key: key.pem}}]"
        ),
        ("/usr/bin/vault", "tokens: {t: {command: [vault, read]}}"),
        ("/opt/x", "tokens: {t: {command: /opt/x}}"),
        ("/opt/x.py", "tokens: {t: {command: [python3, -I, /opt/x.py]}}"),
        (
            "/etc/lupin/htpasswd",
            "listen: [{address: \"127.0.0.1:0\", auth: {basic: {file: htpasswd}}}]"
        ),
        ("/etc/lupin/key.pem", "intercept: {ca: {cert: cert.pem, key: key.pem}}"),
    ]

    @Test(arguments: naming)
    func `a file that has a say is refused in the same way`(file: String, text: String) {
        #expect(errors(text, []).isEmpty, "\(errors(text, []).map(\.message))")
        for standing in [Self.open, Self.foreign] {
            let found = errors(text, [], named: [file: standing])
            #expect(found.map(\.code) == [.file], "\(found.map(\.message))")
            #expect(found.first?.message.contains("\(file) says") == true)
            #expect(found.first?.message.contains(standing.path) == true)
            #expect(errors(text, [], named: ["/elsewhere": standing]).isEmpty)
        }
    }

    @Test func `a host list of a file that attaches nothing may be anybody's`() {
        let text = "rules: [{match: {host: {file: hosts.txt}}, respond: {status: 403}}]"
        #expect(errors(text, [], named: ["/etc/lupin/hosts.txt": Self.open]).isEmpty)
    }
}
