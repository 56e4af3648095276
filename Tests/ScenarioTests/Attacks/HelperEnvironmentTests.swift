// Programs that lupin runs for a secret: what they are told, hold open, and leave behind.
import Foundation
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct HelperEnvironmentTests {
    /// In the environment of lupin, in its rules, or sent by its client.
    private static let secrets = [
        "env-S3cret-1", "bearer-S3cret-2", "basic-S3cret-3", "proxy-S3cret-4", "file-S3cret-5",
        "client-S3cret-6",
    ]

    private static let environment = [
        "PATH": "/usr/bin:/bin", "HOME": "/nowhere", "SECRET": secrets[0],
        "HTTP_PROXY": "http://u:\(secrets[3])@127.0.0.1:1", "http_proxy": "http://127.0.0.1:1",
        "HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
        "NO_PROXY": "*", "LD_PRELOAD": "/nowhere/x.so", "LD_LIBRARY_PATH": "/nowhere",
        "BASH_ENV": "/nowhere/env", "ENV": "/nowhere/env", "IFS": "x",
        "SSLKEYLOGFILE": "/nowhere/k",
        "LUPIN_ANYTHING": secrets[0], "PYTHONPATH": "/nowhere", "GIT_SSH_COMMAND": "false",
        "SSL_CERT_FILE": "/nowhere/ca", "SWIFT_BACKTRACE": "enable=yes",
    ]

    /// Runs `script` for a token beside others, and gives what it wrote to a file; `$$` in it is
    /// one `$`.
    private func output(
        of script: String,
        then: @escaping @Sendable (ProxyFixture) -> Void = { _ in }
    ) async throws -> String {
        let folder = try Folder()
        let file = "\(folder.path)/seen"
        let rules = """
            tokens:
              me: {command: [/bin/sh, -c, '{ \(script); } >\(file) 2>&1; echo t0ken']}
              env: {bearer: "${env:SECRET}"}
              plain: {bearer: \(Self.secrets[1])}
              basic: {basic: {user: me, password: \(Self.secrets[2])}}
              file: {bearer: "${file:DIR/secret}"}
            rules:
              - {name: me, match: {path: /me}, request: [{auth: me}]}
              - {name: env, match: {path: /env}, request: [{auth: env}]}
              - {name: plain, match: {path: /plain}, request: [{auth: plain}]}
              - {name: file, match: {path: /file}, request: [{auth: file}]}
            """
        try await ProxyFixture.run(
            rules,
            environment: Self.environment,
            files: ["secret": Array(Self.secrets[4].utf8)]
        ) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["Authorization"] ?? "none")
                }
            }
            let client = try proxy.client()
            let own = "Cookie: a=\(Self.secrets[5])"
            // The others have been used already, and their connections stand open.
            for path in ["/env", "/plain", "/file"] {
                #expect(try client.get(origin.url(path), own).bodyText.contains("S3cret"))
            }
            #expect(try client.get(origin.url("/me"), own).bodyText == "Bearer t0ken")
            then(proxy)
        }
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    @Test func `the environment holds no secret, no proxy and nothing of loaders`() async throws {
        let text = try await output(of: "tr \"\\000\" \"\\n\" </proc/self/environ")
        let names = Set(text.split(separator: "\n").compactMap { $0.split(separator: "=").first })
        #expect(names.subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == ["HOME", "PATH"])
        for secret in Self.secrets { #expect(!text.contains(secret)) }
    }

    /// What the process that runs the tests was given itself is passed on, so only lupin's is
    /// looked for.
    @Test func `no socket, no file and no event loop of lupin's is open`() async throws {
        let lupin = Mutex<Set<UInt64>>([])
        let before = Mutex("")
        let text = try await output(of: "ls -l /proc/$$$$/fd") { proxy in
            // Other tests of the process have sockets of their own.
            let own = OpenSocket.all { $0.local == proxy.address.port }
            lupin.withLock { $0 = Set(own.map(\.inode)) }
            before.withLock { $0 = proxy.directory }
        }
        let sockets = lupin.withLock { $0 }
        let directory = before.withLock { $0 }
        try #require(!sockets.isEmpty && !directory.isEmpty)
        let lines = text.split(separator: "\n").filter { $0.contains(" -> ") }
        #expect(lines.contains { $0.hasSuffix(" 0 -> /dev/null") })
        for line in lines {
            #expect(!line.contains(directory), "\(line)")
            #expect(!line.contains("anon_inode:"), "\(line)")
            let words = line.split(separator: "[")
            guard line.contains("socket:["), let word = words.last else { continue }
            let inode = try #require(UInt64(word.dropLast()))
            #expect(!sockets.contains(inode), "\(line)")
        }
    }

    @Test func `its input is empty and its errors stay in memory`() async throws {
        let folder = try Folder()
        let file = "\(folder.path)/seen"
        let script = "readlink /proc/$$$$/fd/0 /proc/$$$$/fd/2 >\(file); cat >>\(file); echo t0ken"
        let rules = """
            tokens: {me: {command: [/bin/sh, -c, '\(script)']}}
            rules: [{match: {}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, environment: Self.environment) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
        }
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text == "/dev/null\n/memfd:lupin (deleted)\n")
    }

    @Test func `no command line has a secret of others`() async throws {
        let own = "tr \"\\000\" \" \" </proc/$$$$/cmdline; echo; cat /proc/$$$$/comm"
        let text = try await output(of: own)
        #expect(text.contains("t0ken"))
        for secret in Self.secrets { #expect(!text.contains(secret)) }
    }

    @Test func `what it leaves running ends with it`() async throws {
        let folder = try Folder()
        let file = "\(folder.path)/pid"
        let script = "sleep 60 & echo $$! >\(file); echo t0ken"
        let rules = """
            tokens: {me: {command: [/bin/sh, -c, '\(script)']}}
            rules: [{match: {}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, environment: Self.environment) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let number = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            try eventually("the end of what it left") { Self.isGone(number) }
        }
    }

    /// Whether no such process runs; one that nobody has reaped yet has ended too.
    private static func isGone(_ number: Int32) -> Bool {
        let path = "/proc/\(number)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return true }
        return text.contains(") Z ")
    }

    @Test(arguments: ["\\033[31mred", "a\\rb", "a\\nb", " ", "\\0", "ü"])
    func `what it prints is one field's value, or no credential`(text: String) async throws {
        let rules = """
            tokens: {me: {command: [/usr/bin/printf, "\(text.replacing("\\", with: "\\\\"))"]}}
            rules: [{match: {}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, environment: Self.environment) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request["Authorization"]?.hasPrefix("Bearer ") == true)
                    #expect(request.names.count < 8)
                    try connection.reply(204)
                }
            }
            let status = try proxy.client().get(origin.url()).status
            #expect([204, 502].contains(status))
            if origin.connections.isEmpty { #expect(status == 502) }
        }
    }
}
