// Sockets that the service manager opened: which listener takes which, and what is refused.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct SocketActivationTests {
    private let folder: Folder
    private let socket: ParentSocket

    init() throws {
        folder = try Folder()
        socket = try ParentSocket.listening()
    }

    private func rules(_ more: String = "") throws -> [String] {
        let address = try #require(socket.address)
        let text = "lupin: 1\nlisten: [{address: \(address)}]\n\(more)\n"
        return ["--rules", try folder.write("lupin.yaml", text)]
    }

    @Test func `a client that connects before the start is served`() throws {
        let client = try ScriptedClient(to: #require(socket.address))
        try client.send("GET http://lupin.invalid/ HTTP/1.1\r\nHost: lupin.invalid\r\n\r\n")
        let lupin = try ActivatedLupin(try rules(), [socket])
        let state = try lupin.state("READY=1")
        let address = try #require(socket.address)
        let status = try #require(state.first { $0.hasPrefix("STATUS=") })
        #expect(status.hasPrefix("STATUS=listening on \(address), rules "))
        #expect(status.hasSuffix(" of \(folder.path)/lupin.yaml"))
        #expect(try client.response().status >= 400)
        try lupin.stop()
    }

    @Test func `its programs see none of the manager's variables`() throws {
        let origin = try ScriptedOrigin { connection in
            let request = try connection.request()
            try connection.reply(body: request["X-Seen"] ?? "nothing")
        }
        defer { origin.stop() }
        let leak = "test -S /proc/self/fd/3 && echo leak"
        let command = "echo $LISTEN_FDS.$LISTEN_PID.$NOTIFY_SOCKET.$(\(leak))"
        let more = """
            tokens: {t: {command: [sh, -c, "\(command)"]}}
            rules: [{match: "\(origin.url("/**"))", request: [{set: {X-Seen: "${token:t}"}}]}]
            """
        let lupin = try ActivatedLupin(try rules(more), [socket], variables: ["WATCHDOG_USEC": "0"])
        let client = try ScriptedClient(to: #require(socket.address))
        #expect(try client.get(origin.url()).bodyText == "...")
        try lupin.stop()
    }

    @Test func `states follow a reload and the watchdog`() throws {
        let lupin = try ActivatedLupin(
            try rules(),
            [socket],
            variables: ["WATCHDOG_USEC": "20000"]
        )
        try lupin.state("READY=1")
        for _ in 0..<3 { try lupin.state("WATCHDOG=1") }
        lupin.signal(SIGHUP)
        let state = try lupin.state("RELOADING=1")
        #expect(state.contains { $0.hasPrefix("MONOTONIC_USEC=") })
        try lupin.state("READY=1")
        // A change that takes away the listener of the manager's socket is refused.
        _ = try folder.write("lupin.yaml", "lupin: 1\nlisten: [{address: 127.0.0.1:0}]\n")
        try lupin.state("RELOADING=1")
        let refused = try lupin.state("READY=1")
        #expect(refused.contains { $0.hasSuffix("; its last change has errors: see the log") })
        try lupin.stop()
    }

    @Test func `the admin socket is the one with its name, and its file stays`() throws {
        let path = "\(folder.path)/other.sock"
        let admin = try ParentSocket.listening(path: path)
        let lupin = try ActivatedLupin(try rules(), [socket, admin], names: "web:admin")
        try lupin.state("READY=1")
        let status = try Lupin.run("status", "--socket", path)
        #expect(status.output.contains("\nlistens on \(try #require(socket.address))\n"))
        try lupin.stop()
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `the admin socket is found by its path as well`() throws {
        let path = "\(folder.path)/own.sock"
        let admin = try ParentSocket.listening(path: path)
        let lupin = try ActivatedLupin(
            try rules("admin: {socket: \(path)}"),
            [admin, socket]
        )
        try lupin.state("READY=1")
        #expect(try Lupin.run("status", "--socket", path).code == 0)
        try lupin.stop()
    }

    @Test func `a socket that no listener names is refused`() throws {
        let other = try ParentSocket.listening()
        let lupin = try ActivatedLupin(try rules(), [socket, other])
        let ending = lupin.end()
        #expect(ending.code == 69)
        let address = try #require(other.address)
        #expect(ending.errors.contains("passed a socket on \(address), and no listener of the"))
    }

    @Test func `an admin socket that is off is refused`() throws {
        let admin = try ParentSocket.listening(path: "\(folder.path)/a.sock")
        let lupin = try ActivatedLupin(
            try rules("admin: {socket: off}"),
            [socket, admin],
            names: "x:admin"
        )
        let ending = lupin.end()
        #expect(ending.code == 69)
        #expect(ending.errors.contains("a.sock, which is not the admin socket"))
    }

    @Test func `a descriptor that does not listen is refused`() throws {
        let datagrams = try ParentSocket.datagrams(at: "\(folder.path)/d")
        let lupin = try ActivatedLupin(try rules(), [datagrams], names: "web")
        let ending = lupin.end()
        #expect(ending.code == 69)
        #expect(
            ending.errors.contains(
                "descriptor 3 from the service manager (web) is no listening stream socket"
            )
        )
    }

    @Test func `a descriptor that is not there is refused`() throws {
        let lupin = try ActivatedLupin(try rules(), [socket], variables: ["LISTEN_FDS": "9"])
        let ending = lupin.end()
        #expect(ending.code == 69)
        #expect(ending.errors.contains("from the service manager (unknown) is not open: "))
    }

    @Test func `variables for another process mean nothing, so the address is in use`() throws {
        let lupin = try ActivatedLupin(try rules(), [socket], variables: ["FOREIGN_PID": "1"])
        let ending = lupin.end()
        #expect(ending.code == 69)
        #expect(ending.errors.contains("cannot listen on \(try #require(socket.address)): "))
    }

    @Test func `serve can check the rules file alone`() throws {
        let arguments = try rules()
        let good = try Lupin.run(["serve", "--check-config"] + arguments)
        #expect(good.code == 0)
        #expect(good.output == "\(folder.path)/lupin.yaml: ok, 0 rules\n")
        _ = try folder.write("lupin.yaml", "lupin: 1\nlisten: nowhere\n")
        let bad = try Lupin.run(["serve", "--check-config"] + arguments)
        #expect(bad.code == 2)
        #expect(bad.errors.contains("lupin.yaml:2:"))
    }
}
