// What the tests of the rules file share: a file in memory, and its report.

import LupinPolicy
import LupinRules
import Testing

/// Decodes a file called `lupin.yaml` that holds `lupin: 1` on its first line and `body` below.
func decode(
    _ body: String,
    environment: [String: String] = [:],
    files: [String: FileContents] = [:],
    home: String? = "/users/ann"
) -> LoadResult {
    decodeWhole("lupin: 1\n" + body, environment: environment, files: files, home: home)
}

/// Decodes a file called `lupin.yaml` that holds `text` and nothing else.
func decodeWhole(
    _ text: String,
    environment: [String: String] = [:],
    files: [String: FileContents] = [:],
    home: String? = "/users/ann"
) -> LoadResult {
    let surroundings = Surroundings(
        environment: environment,
        home: home,
        directory: "/etc/lupin",
        readFile: { path throws(FileProblem) in
            guard let contents = files[path] else { throw FileProblem("there is no such file") }
            return contents
        }
    )
    return RulesFile.decode(text: text, fileName: "lupin.yaml", surroundings: surroundings)
}

/// The report of all errors, as `lupin check` prints it.
func errors(
    _ body: String,
    environment: [String: String] = [:],
    files: [String: FileContents] = [:],
    home: String? = "/users/ann"
) -> String {
    decode(body, environment: environment, files: files, home: home).errors.report(limit: 1000)
}

/// The configuration of a file without errors.
func configuration(
    _ body: String,
    environment: [String: String] = [:],
    files: [String: FileContents] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> Configuration {
    let result = decode(body, environment: environment, files: files)
    #expect(result.errors.report() == "", sourceLocation: sourceLocation)
    return try #require(result.configuration, sourceLocation: sourceLocation)
}

/// Files as certificates and keys would be read; the contents mean nothing to OpenSSL.
enum SampleFile {
    static let certificate = FileContents(bytes: Array(pem("CERTIFICATE", "MAMCAQE=").utf8))
    static let key = FileContents(bytes: Array(pem("PRIVATE KEY", "MAMCAQE=").utf8))

    /// A PEM block around base64.
    static func pem(_ label: String, _ base64: String) -> String {
        "-----BEGIN \(label)-----\n\(base64)\n-----END \(label)-----\n"
    }

    static func text(_ text: String) -> FileContents { FileContents(bytes: Array(text.utf8)) }

    /// `cert.pem`, `key.pem` and `htpasswd` beside the rules file.
    static let all: [String: FileContents] = [
        "/etc/lupin/cert.pem": certificate, "/etc/lupin/key.pem": key,
        "/etc/lupin/htpasswd": text("ann:x"), "/etc/lupin/hosts.txt": text("a.test\n"),
    ]
}
