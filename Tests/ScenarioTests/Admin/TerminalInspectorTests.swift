// `lupin inspect --terminal` on a real pseudo-terminal, against a running proxy.
import Foundation
import Glibc
import LupinTestKit
import Testing

/// A terminal that only the test sees, with the command on its other side (pty(7)).
private final class InspectedTerminal {
    private let control: FileHandle
    private let device: FileHandle
    private let process: ChildProgram
    /// What was shown behind what the test waited for.
    private var unread = ""
    let modesBefore: [UInt32]

    private static let timeout = 20.0

    init(
        _ proxy: ProxyFixture,
        _ arguments: String...,
        rows: UInt16 = 24,
        columns: UInt16 = 80
    ) throws {
        control = try #require(FileHandle(forUpdatingAtPath: "/dev/ptmx"))
        let (unlock, number) = (UInt(0x4004_5431), UInt(0x8004_5430))
        var value: CInt = 0
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        // Safety: the calls read or write the one value (TIOCSPTLCK, TIOCGPTN, TIOCSWINSZ).
        try #require(unsafe ioctl(control.fileDescriptor, unlock, &value) == 0)
        try #require(unsafe ioctl(control.fileDescriptor, number, &value) == 0)
        try #require(unsafe ioctl(control.fileDescriptor, UInt(TIOCSWINSZ), &size) == 0)
        device = try #require(FileHandle(forUpdatingAtPath: "/dev/pts/\(value)"))
        modesBefore = try Self.modes(device)
        let process = Lupin.process(
            "/usr/bin/setsid",
            [
                "--ctty", "--wait", Lupin.path, "inspect", "--terminal", "--socket",
                proxy.adminPath,
            ] + arguments,
            in: nil
        )
        process.environment?["TERM"] = "xterm"
        process.standardInput = device
        process.standardOutput = device
        process.standardError = device
        self.process = process
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    private static func modes(_ device: FileHandle) throws -> [UInt32] {
        var modes = termios()
        // Safety: tcgetattr fills the one struct.
        try #require(unsafe tcgetattr(device.fileDescriptor, &modes) == 0)
        return [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
    }

    func modes() throws -> [UInt32] { try Self.modes(device) }

    func type(_ keys: String) throws { try control.write(contentsOf: Data(keys.utf8)) }

    /// Reads until `text` has been shown behind what was waited for before.
    func wait(for text: String) throws {
        while true {
            if let found = unread.firstRange(of: text) {
                unread.removeSubrange(..<found.upperBound)
                return
            }
            var ready = pollfd(fd: control.fileDescriptor, events: Int16(POLLIN), revents: 0)
            // Safety: poll only uses the one struct.
            let count = unsafe poll(&ready, 1, Int32(Self.timeout * 1000))
            try #require(count == 1, "\"\(text)\" was not shown, but: \(unread)")
            unread += String(decoding: control.availableData, as: UTF8.self)
        }
    }

    /// The inspector's own process, below setsid(1).
    func signal(_ number: Int32) throws {
        let path = "/proc/\(process.processIdentifier)/task/\(process.processIdentifier)/children"
        let children = try String(contentsOfFile: path, encoding: .utf8)
        let child = children.split(separator: " ").compactMap { Int32($0) }.first
        kill(child ?? process.processIdentifier, number)
    }

    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
}

struct TerminalInspectorTests {
    private static let opening = "\u{1B}[?1049h"
    private static let closing = "\u{1B}[?25h\u{1B}[?1049l"

    @Test func `it lists, filters, opens, and leaves the terminal as it was`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 404 No", "Content-Length: 0"))
            let client = try proxy.client()
            try client.get(origin.url("/first"))
            try proxy.settle()
            let terminal = try InspectedTerminal(proxy)
            try terminal.wait(for: Self.opening)
            try terminal.wait(for: "/first")
            #expect(try terminal.modes() != terminal.modesBefore)
            // It is live.
            try client.get(origin.url("/second"))
            try terminal.wait(for: "/second")
            try terminal.type("/statu:404\r")
            try terminal.wait(for: "did you mean status?")
            try terminal.type("\u{15}path:/first\r")
            try terminal.wait(for: "filter path:/first")
            try terminal.wait(for: "/first")
            // The bytes of a key, one by one.
            for byte in "\u{1B}[A\r" { try terminal.type(String(byte)) }
            try terminal.wait(for: "3 Body")
            try terminal.type("2")
            try terminal.wait(for: "status 404")
            try terminal.type("q")
            try terminal.wait(for: Self.closing)
            #expect(terminal.end() == 0)
            #expect(try terminal.modes() == terminal.modesBefore)
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
    func `a signal ends it, and the terminal is as it was`(number: Int32) async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let terminal = try InspectedTerminal(proxy)
            try terminal.wait(for: "No exchanges yet.")
            try terminal.signal(number)
            try terminal.wait(for: Self.closing)
            #expect(terminal.end() == 128 + number)
            #expect(try terminal.modes() == terminal.modesBefore)
        }
    }

    @Test(arguments: ["q", "the terminal goes"])
    func `a host is captured until it is left`(end: String) async throws {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 X", "Content-Length: 2") + "ok"
            )
            let client = try proxy.client()
            func isCaptured(_ index: Int) throws -> Bool {
                try client.get(origin.url())
                return try proxy.captured(index).side("response")["kept"] == "2"
            }
            let terminal = try InspectedTerminal(proxy, "--capture", "127.0.0.1")
            try terminal.wait(for: "No exchanges yet.")
            #expect(try isCaptured(0))
            if end == "q" { try terminal.type("q") } else { try terminal.signal(SIGHUP) }
            try terminal.wait(for: Self.closing)
            #expect(terminal.end() == (end == "q" ? 0 : 128 + SIGHUP))
            #expect(try !isCaptured(1))
            #expect(try proxy.adminJSON("/v1/capture").count("holds") == 0)
        }
    }

    @Test(.waitsForPrograms)
    func `without a terminal, or without a lupin, it says so`() throws {
        let none = try Lupin.run("inspect", "--terminal", "--socket", "/nonexistent/socket")
        #expect(none.code == 64)
        #expect(none.errors.hasPrefix("Error: --terminal needs a terminal"))
        let page = try Lupin.run("inspect", "--socket", "/nonexistent/socket")
        #expect(page.code == 1)
        #expect(page.errors.hasPrefix("lupin: no lupin answers at /nonexistent/socket: "))
    }
}
