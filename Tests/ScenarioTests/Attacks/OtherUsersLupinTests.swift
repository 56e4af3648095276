// That nobody borrows a user's rights by way of a lupin that this user runs.
import Foundation
import Glibc
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

/// Whether this machine lets a test have programs run as other users.
private enum OtherUsers {
    static let arePossible: Bool = {
        guard geteuid() == 0, SmallInternet.has(SmallInternet.python) else { return false }
        let words =
            OtherUsersLupinTests.acting(as: OtherUsersLupinTests.nobody) + [
                Lupin.path, "--version",
            ]
        let process = Lupin.process(words[0], Array(words.dropFirst()), in: "/")
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

@Suite(
    .enabled(
        if: OtherUsers.arePossible,
        "only root has programs run as another user, in a place that this one reaches"
    ),
    // Each user has one network: an impostor of one test would answer in another.
    .serialized
)
struct OtherUsersLupinTests {
    /// The number of `nobody`, in every distribution, and one that nobody has.
    fileprivate static let (nobody, stranger): (UInt32, UInt32) = (65534, 4_294_000_112)

    fileprivate static func acting(as user: UInt32) -> [String] {
        ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    }

    /// Asks the last proxy for a resource by the others, one inside the other; prints the status.
    private static let script = """
        import socket, sys
        first, *others = sys.argv[2:]
        s = socket.create_connection(("127.0.0.1", int(first)), 30)
        def head():
            text = b""
            while not text.endswith(b"\\r\\n\\r\\n"): text += s.recv(1)
            return text.split()[1].decode()
        for port in others:
            place = "127.0.0.1:" + port
            s.sendall(f"CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\n".encode())
            assert head() == "200"
        host = sys.argv[1].split("/")[2]
        s.sendall(f"GET {sys.argv[1]} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        if "leave" not in sys.argv[1]: print(head())
        """

    private func status(of url: String, by ports: [UInt16], as user: UInt32) throws -> String {
        let words = Self.acting(as: user) + [SmallInternet.python, "-c", Self.script, url]
        let all = words.dropFirst() + ports.map(String.init)
        let process = Lupin.process(words[0], Array(all), in: "/")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    @Test func `what a lupin keeps is told its user at its name in the network, and no other`()
        async throws
    {
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.settimeout(30)
            s.connect("\\0" + sys.argv[1]); s.sendall(b"belongings\\n"); print(s.recv(99))
            """
        try await LupinPair.run(areApart: true) { pair in
            let network = NetworkNames(of: "", in: [pair.folder])
            let names = try #require(network.ofThisUser(besides: []))
            #expect(names.count == 2)
            for name in names {
                guard case .belongings? = Belonging.ask(at: name, isAbstract: true) else {
                    Issue.record("the user is not told")
                    continue
                }
                let words = Self.acting(as: Self.stranger)
                let result = try Lupin.run(
                    program: words[0],
                    words.dropFirst() + [SmallInternet.python, "-c", script, name]
                )
                #expect(result.output == "b''\n", "\(result.errors)")
            }
        }
    }

    @Test func `who comes through a lupin of another user counts as himself`() async throws {
        let file = try Folder()
        let rules = "\(file.path)/lupin.yaml"
        try "lupin: 1\nlisten: [{address: \"127.0.0.1:0\"}]\n".write(
            toFile: rules,
            atomically: true,
            encoding: .utf8
        )
        for (path, mode) in [(file.path, 0o755), (rules, 0o644)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        let between = try RunningLupin(
            ["serve", "--rules", rules],
            environment: [:],
            user: Self.nobody
        )
        let own = """
            access: {credentials: [nobody]}
            tokens: {api: {bearer: real-token}}
            rules: [{match: {host: 127.0.0.1}, request: [{auth: api}]}]
            """
        let way = between.port
        try await ProxyFixture.run(own) { proxy in
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            let origin = try proxy.origin(answering: answer)
            let port = proxy.address.port
            for (ports, user, expected) in [
                ([port], Self.nobody, "200"), ([port], Self.stranger, "403"),
                ([way, port], Self.nobody, "200"),
                ([way, port], Self.stranger, "403"),
            ] {
                let found = try status(of: origin.url(), by: ports, as: user)
                #expect(found == expected, "\(ports.count) \(user)")
            }
            // Who leaves at once, so that the lupin between has no such connection any more.
            let before = origin.receivedText.components(separatedBy: "real-token").count
            for number in 0..<20 {
                let url = origin.url("/leave\(number)")
                _ = try status(of: url, by: [way, port], as: Self.stranger)
            }
            #expect(try status(of: origin.url(), by: [port], as: Self.stranger) == "403")
            #expect(origin.receivedText.components(separatedBy: "real-token").count == before)
        }
        withExtendedLifetime(between) {}
    }

    /// Says of every connection of its user that it is one of another user's client.
    private static let impostor = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.bind(f"\\0lupin.{os.getuid()}.{sys.argv[1]}-{os.getpid()}")
        s.listen(9)
        print("ready", flush=True)
        while True:
            c, _ = s.accept()
            c.recv(200)
            c.sendall(f"user {sys.argv[1]}\\n".encode())
            c.close()
        """

    @Test(arguments: [(stranger, nobody), (stranger, 0), (nobody, 0)] as [(UInt32, UInt32)])
    func `nobody is believed that his client is somebody who may do more`(
        who: UInt32,
        claimed: UInt32
    ) async throws {
        let words =
            Self.acting(as: who) + [
                SmallInternet.python, "-c", Self.impostor, "\(claimed)",
            ]
        let process = Lupin.process(words[0], Array(words.dropFirst()), in: "/")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        #expect(try output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
        let own = """
            access: {credentials: [nobody]}
            tokens: {api: {bearer: real-token}}
            rules: [{match: {host: 127.0.0.1}, request: [{auth: api}]}]
            """
        try await ProxyFixture.run(own) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            let found = try status(of: origin.url(), by: [proxy.address.port], as: who)
            #expect(found == "403")
            #expect(!origin.receivedText.contains("real-token"))
        }
    }
}
