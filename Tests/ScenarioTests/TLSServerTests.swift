// Other programs as TLS servers: what lupin advises where the handshake fails does help there.
import Foundation
import Glibc
import LupinTestKit
import Testing

/// `openssl s_server` as `old.test`, on a port from the kernel; ended with the object.
final class ForeignTLSServer {
    private static let program = "/usr/bin/openssl"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    private let folder: Folder
    private let process: ChildProgram
    private let input = Pipe()
    let port: UInt16

    init(_ arguments: [String], by authority: TestAuthority) throws {
        folder = try Folder()
        let files = try authority.identityFiles(of: "old.test")
        let (certificate, key) = (folder.path + "/cert.pem", folder.path + "/key.pem")
        try Data(files.pem).write(to: URL(fileURLWithPath: certificate))
        try Data(files.key).write(to: URL(fileURLWithPath: key))
        let log = folder.path + "/log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let command = ChildProgram(
            Self.program,
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key] + arguments
        )
        command.standardInput = input
        let output = try #require(FileHandle(forWritingAtPath: log))
        command.standardOutput = output
        command.standardError = output
        try command.run()
        process = command
        var found: UInt16?
        try eventually("the server listens") {
            let line = Self.text(log).firstMatch(of: /ACCEPT [^ ]*:(\d+)/)
            found = line.flatMap { UInt16($0.output.1) }
            return found != nil
        }
        port = try #require(found)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var url: String { "https://old.test:\(port)/" }

    /// Types into its terminal.
    func type(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

    /// Waits for something that it prints.
    func wait(for text: String) throws {
        try eventually("the server prints \(text)") {
            Self.text(folder.path + "/log").contains(text)
        }
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}

@Suite(.enabled(if: ForeignTLSServer.isInstalled, "needs openssl"))
struct TLSServerTests {
    private static let weak = "tls: {ciphers: \"ALL:@SECLEVEL=0\"}"
    private static let certificate = "client_cert: {cert: DIR/my.pem, key: DIR/my.key}"

    private func run(
        _ keys: String,
        _ body: @Sendable @escaping (ProxyFixture) throws -> Void
    ) async throws {
        let files = try TestAuthority.identityFiles("client.test")
        try await ProxyFixture.run(
            "rules: [{match: {host: old.test}, retry: none\(keys.isEmpty ? "" : ", ")\(keys)}]",
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here,
            body
        )
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        /// What the page says where it fails.
        var words = ""
        /// What helps.
        var keys = ""

        var testDescription: String { arguments.joined(separator: " ") }
    }

    @Test(arguments: [
        Row(arguments: ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA"]),
        Row(
            arguments: ["-tls1_2", "-cipher", "ECDHE-ECDSA-CAMELLIA256-SHA384"],
            words: "no cipher, no signature algorithm or no group in common",
            keys: weak
        ),
        Row(
            arguments: ["-tls1_2", "-sigalgs", "ECDSA+SHA1", "-cipher", "ALL:@SECLEVEL=0"],
            words: "ALL:@SECLEVEL=0",
            keys: weak
        ),
        Row(arguments: ["-tls1_3", "-curves", "X448"], words: "lupin's groups are X25519, P-256"),
        Row(arguments: ["-tls1_3", "-curves", "ffdhe2048"]),
        Row(arguments: ["-tls1_3", "-curves", "ffdhe8192"], words: "no group in common"),
        Row(arguments: ["-tls1_2", "-Verify", "1"], words: "client_cert", keys: certificate),
        Row(arguments: ["-tls1_3", "-Verify", "1"], words: "client_cert", keys: certificate),
        Row(
            arguments: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
            words: "versions before TLS 1.2"
        ),
    ])
    func `what is advised is what helps`(row: Row) async throws {
        for keys in row.words.isEmpty ? [row.keys] : ["", row.keys] {
            try await run(keys) { proxy in
                let server = try ForeignTLSServer(["-www"] + row.arguments, by: proxy.authority)
                let response = try proxy.client().get(server.url)
                let mayHelp = !row.keys.isEmpty || row.words.isEmpty
                #expect(response.status == (keys == row.keys && mayHelp ? 200 : 502))
                if response.status == 502 { #expect(response.bodyText.contains(row.words)) }
            }
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `who gets a page is told the key of a refused certificate, its owner the file`(
        version: String
    ) async throws {
        try await run(Self.certificate) { proxy in
            // It trusts no CA that signed ours.
            let arguments = ["-www", version, "-Verify", "1", "-verify_return_error"]
            let server = try ForeignTLSServer(arguments, by: proxy.authority)
            let response = try proxy.client().get(server.url)
            #expect(response.status == 502)
            let said = response.bodyText
            #expect(said.contains("refused the client certificate"), "\(said)")
            #expect(said.contains("client_cert of the rule"), "\(said)")
            #expect(!said.contains("It may want a client certificate"))
            #expect(!(said + response.fields.map(\.value).joined()).contains("my.pem"))
            #expect(try proxy.record()["error.detail"]?.contains("/my.pem") == true)
        }
    }

    @Test func `a certificate that is asked for behind the request is shown`() async throws {
        try await run(Self.certificate) { proxy in
            let server = try ForeignTLSServer(["-tls1_3"], by: proxy.authority)
            let client = try proxy.client()
            try client.send("GET", server.url)
            try server.wait(for: "GET / HTTP/1.1")
            server.type("c\n")
            try server.wait(for: "client.test")
            server.type("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try client.response().bodyText == "ok")
        }
    }

    @Test func `a server that negotiates anew is refused in words`() async throws {
        try await run(Self.certificate) { proxy in
            let server = try ForeignTLSServer(["-tls1_2"], by: proxy.authority)
            let client = try proxy.client()
            try client.send("GET", server.url)
            try server.wait(for: "GET / HTTP/1.1")
            server.type("R\n")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response.bodyText.contains("negotiate TLS anew"))
            #expect(!response.bodyText.contains("Does the port speak TLS"))
            #expect(response.bodyText.contains("client_cert"))
            #expect(try proxy.record()["error.type"] == "tls_protocol_error")
        }
    }

    @Test(arguments: [
        "ALL:@SECLEVEL=0", "ALL:COMPLEMENTOFALL:@SECLEVEL=0", "HIGH:aNULL:@SECLEVEL=0",
    ])
    func `a server without a certificate is never one that is trusted`(ciphers: String) async throws
    {
        let anonymous = ["-nocert", "-tls1_2", "-cipher", "AECDH-AES128-SHA:@SECLEVEL=0", "-www"]
        try await run("tls: {ciphers: \"\(ciphers)\"}") { proxy in
            let server = try ForeignTLSServer(anonymous, by: proxy.authority)
            let response = try proxy.client().get(server.url)
            #expect(response.status == 502)
            #expect(!response.bodyText.contains("AECDH"))
        }
    }
}
