// What the service manager is told, by path and by abstract name.
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct ServiceManagerTests {
    private static func name(_ start: String) -> String {
        "\(start)lupin-notify-\(UInt64.random(in: 0...UInt64.max))"
    }

    private func manager(_ name: String, _ more: [String: String] = [:]) throws -> ServiceManager {
        let variables = ServiceVariables(["NOTIFY_SOCKET": name].merging(more) { $1 })
        return try #require(ServiceManager(variables))
    }

    @Test(arguments: ["/tmp/", "@"])
    func `states arrive at a path and at an abstract name`(start: String) throws {
        let name = Self.name(start)
        // Safety: the path is NUL-terminated for the call.
        defer { _ = unsafe unlink(name) }
        let socket = try ParentSocket.datagrams(at: name)
        let manager = try manager(name)
        manager.tell(.ready, status: "two\nlines")
        #expect(try socket.receive() == "READY=1\nSTATUS=two lines")
        manager.tell(.alive)
        #expect(try socket.receive() == "WATCHDOG=1")
        manager.tell(.stopping)
        #expect(try socket.receive() == "STOPPING=1")
        let before = SystemCall.monotonicMicroseconds()
        manager.tell(.reloading)
        let lines = try socket.receive().split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        let time = try #require(lines.last?.split(separator: "=").last.flatMap { UInt64($0) })
        #expect((before...SystemCall.monotonicMicroseconds()).contains(time))
    }

    @Test func `a manager that does not read costs a beat nothing`() throws {
        let name = Self.name("@")
        let socket = try ParentSocket.datagrams(at: name)
        let manager = try manager(name)
        // More than any queue of datagrams holds.
        for _ in 0..<10_000 { manager.tell(.alive) }
        #expect(try socket.receive() == "WATCHDOG=1")
    }

    @Test func `a manager that is gone harms nothing`() throws {
        try manager(Self.name("@")).tell(.ready)
        try manager("/nonexistent/notify").tell(.ready)
        try manager("/" + String(repeating: "n", count: 300)).tell(.ready)
    }

    @Test(
        arguments: [
            ([:], nil), (["WATCHDOG_USEC": "30000000"], 30_000_000), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "x"], nil), (["WATCHDOG_USEC": "5", "WATCHDOG_PID": "1"], nil),
            (["WATCHDOG_USEC": "5", "WATCHDOG_PID": String(getpid())], 5),
        ] as [([String: String], UInt64?)]
    )
    func `the watchdog is the one of this process`(
        variables: [String: String],
        time: UInt64?
    ) throws {
        #expect(try manager("@x", variables).watchdogMicroseconds == time)
    }

    @Test(arguments: [[:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "vsock:2:1"]])
    func `without a socket there is no manager`(variables: [String: String]) {
        #expect(ServiceManager(ServiceVariables(variables)) == nil)
    }
}
