// Which secrets are read with a rules file, and what stands in the place of others.
import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct SecretReadingTests {
    private static let text = """
        lupin: 1
        tokens:
          a: {bearer: "${env:A}"}
          b: {bearer: "${file:b}"}
          c: {basic: {user: me, password: "${secret:C}-${file:c}"}}
        cache: {store: {shared: {url: "redis://:${file:d}@r.test", key: "${file:k}"}}}
        upstream: {tls: {client_cert: {cert: cert.pem, key: key.pem}}}
        rules: [{name: r, match: {host: a.test}, request: [{set: {X-A: "${secret:X}"}}]}]
        """

    private static let key = String(repeating: "k", count: 64)

    private func load(
        _ secrets: SecretReading,
        environment: [String: String] = [:],
        files: [String: FileContents] = [:]
    ) -> LoadResult {
        var all = files
        all["/etc/lupin/cert.pem"] = SampleFile.certificate
        let readable = all
        var surroundings = Surroundings(
            environment: environment,
            directory: "/etc/lupin",
            readFile: { path throws(FileProblem) in
                guard let contents = readable[path] else {
                    throw FileProblem("there is no such file")
                }
                return contents
            }
        )
        surroundings.secrets = secrets
        return RulesFile.decode(
            text: Self.text,
            fileName: "lupin.yaml",
            surroundings: surroundings
        )
    }

    private static let environment = ["A": "first-secret", "C": "third", "X": "field-secret"]
    private static var files: [String: FileContents] {
        [
            "/etc/lupin/b": SampleFile.text("second-secret\n"),
            "/etc/lupin/c": SampleFile.text("secret"),
            "/etc/lupin/d": SampleFile.text("redis-secret"), "/etc/lupin/k": SampleFile.text(key),
            "/etc/lupin/key.pem": SampleFile.key,
        ]
    }

    @Test func `without its secrets a file has errors where they are required alone`() throws {
        #expect(load(.required).errors.count == 8)
        for secrets in [SecretReading.available, .named] {
            let result = load(secrets)
            #expect(result.errors.report() == "")
            let settings = try #require(result.configuration).settings
            #expect(settings.tokens.map(\.name) == ["a", "b", "c"])
            #expect(settings.tokens[0].source == .bearer(SecretText("<env A>")))
            #expect(settings.upstream.tls.clientCertificate?.key == "/etc/lupin/key.pem")
        }
    }

    @Test func `secrets at hand are known, unless only their names are wanted`() throws {
        let known = [
            "first-secret", "second-secret", "third", "secret", "third-secret", "redis-secret",
            Self.key, "field-secret",
        ]
        for (secrets, isRead) in [
            (SecretReading.required, true), (.available, true), (.named, false),
        ] {
            let result = load(secrets, environment: Self.environment, files: Self.files)
            let configuration = try #require(result.configuration, "\(result.errors.report())")
            for secret in known { #expect(configuration.secrets.contains(secret) == isRead) }
            let paths = configuration.paths.filter { !$0.role.isPublic }.map(\.path)
            #expect(paths.sorted() == ["b", "c", "d", "k", "key.pem"].map { "/etc/lupin/\($0)" })
        }
    }

    @Test func `some may be there, empty ones are not, and a file may be open to others`() throws {
        var open = SampleFile.text("second-secret")
        open.isOpenToOthers = true
        let result = load(
            .available,
            environment: ["A": "", "C": "third"],
            files: ["/etc/lupin/b": open, "/etc/lupin/c": FileContents(bytes: [0xFF])]
        )
        #expect(result.errors.report() == "")
        let configuration = try #require(result.configuration)
        #expect(configuration.settings.tokens[0].source == .bearer(SecretText("<env A>")))
        let secrets = configuration.secrets
        #expect(secrets.contains("second-secret") && secrets.contains("third"))
        #expect(!secrets.contains(""))
    }
}
