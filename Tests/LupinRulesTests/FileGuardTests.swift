// A rules file that says which credentials requests get is nobody else's to change.
import LupinCore
import LupinRules
import Testing

struct FileGuardTests {
    private func errors(_ text: String, _ standings: [FileStanding]) -> [Diagnostic] {
        var surroundings = Surroundings(
            environment: ["T": "secret-token"],
            home: "/users/ann",
            directory: "/etc/lupin",
            standings: standings,
            readFile: { path throws(FileProblem) in
                guard let contents = SampleFile.all[path] else { throw FileProblem("none") }
                return contents
            }
        )
        surroundings.isDirectory = { _ in true }
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
}
