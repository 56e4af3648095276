// A lupin in the foreground of a terminal, whose window is closed.
import Foundation
import Glibc
import Testing

@Suite(.waitsForPrograms)
struct ClosedTerminalTests {
    /// A terminal that only this process sees, and the device of its other side (pty(7)).
    private static func terminal() throws -> (control: FileHandle, device: FileHandle) {
        let control = try #require(FileHandle(forUpdatingAtPath: "/dev/ptmx"))
        let (unlock, number) = (UInt(0x4004_5431), UInt(0x8004_5430))
        var value: CInt = 0
        // Safety: both calls read or write the one number (TIOCSPTLCK, TIOCGPTN).
        try #require(unsafe ioctl(control.fileDescriptor, unlock, &value) == 0)
        try #require(unsafe ioctl(control.fileDescriptor, number, &value) == 0)
        return (control, try #require(FileHandle(forUpdatingAtPath: "/dev/pts/\(value)")))
    }

    @Test func `it ends with the window of its terminal`() throws {
        let folder = try Folder()
        let file = try folder.write(
            "lupin.yaml",
            "lupin: 1\nlisten: [{address: 127.0.0.1:0}]\nlog: off\n"
        )
        let (control, device) = try Self.terminal()
        let process = Lupin.process(
            "/usr/bin/setsid",
            ["--ctty", "--wait", Lupin.path, "--rules", file],
            in: nil
        )
        let errors = Pipe()
        process.environment?["XDG_RUNTIME_DIR"] = folder.path
        process.standardInput = device
        process.standardOutput = device
        process.standardError = errors
        try process.run()
        try device.close()
        try errors.fileHandleForWriting.close()
        var said = ""
        while !said.contains("listening on "),
            let more = try errors.fileHandleForReading.read(upToCount: 1)
        {
            said += String(decoding: more, as: UTF8.self)
        }
        try control.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let rest = errors.fileHandleForReading.readDataToEndOfFile()
        #expect(String(decoding: rest, as: UTF8.self).contains("stopping"))
    }
}
