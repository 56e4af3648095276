// A lupin that a service manager starts, played by the test: sockets handed over, states received.
import Foundation
import LupinTestKit
import Testing

/// `lupin serve` with sockets that the test keeps.
final class ActivatedLupin {
    /// Where it reports its states.
    let notices: ParentSocket
    private let process: ChildProgram
    private let errors = Pipe()
    private let folder: Folder

    /// Starts it with up to two sockets, which become its descriptors 3 and 4.
    init(
        _ arguments: [String],
        _ sockets: [ParentSocket],
        names: String = "",
        variables: [String: String] = [:]
    ) throws {
        folder = try Folder()
        let notify = "\(folder.path)/notify"
        notices = try ParentSocket.datagrams(at: notify)
        // A process can't name its child in the child's environment; a shell keeps its number.
        let script = """
            exec 3<&0; [ "$LISTEN_FDS" != 2 ] || exec 4>&1
            exec </dev/null >/dev/null
            export LISTEN_PID=${FOREIGN_PID-$$}; exec "$0" "$@"
            """
        process = Lupin.process(
            "/bin/sh",
            ["-c", script, Lupin.path, "serve"] + arguments,
            in: nil
        )
        process.environment?.merge([
            "LISTEN_FDS": "\(sockets.count)", "LISTEN_FDNAMES": names, "NOTIFY_SOCKET": notify,
            "XDG_RUNTIME_DIR": folder.path,
        ]) { $1 }
        process.environment?.merge(variables) { $1 }
        if let first = sockets.first {
            process.standardInput = FileHandle(fileDescriptor: first.descriptor)
        }
        process.standardOutput =
            sockets.count > 1
            ? FileHandle(fileDescriptor: sockets[1].descriptor) : FileHandle.nullDevice
        process.standardError = errors
        try process.run()
    }

    deinit { if process.isRunning { signal(SIGKILL) } }

    /// Waits for a state that has this line, and returns its lines.
    @discardableResult
    func state(_ line: String) throws -> [String] {
        // Beats of the watchdog may come without end.
        for _ in 0..<2000 {
            let lines = try notices.receive().split(separator: "\n").map(String.init)
            if lines.contains(line) { return lines }
        }
        throw SocketFailure("no state said \(line)")
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end: the exit code and what it wrote to standard error.
    func end() -> (code: Int32, errors: String) {
        process.waitUntilExit()
        let text = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        return (process.terminationStatus, text)
    }

    /// Stops it as a service manager does.
    func stop() throws {
        signal(SIGTERM)
        try state("STOPPING=1")
        let ending = end()
        #expect(ending.code == 0, "\(ending.errors)")
    }
}
