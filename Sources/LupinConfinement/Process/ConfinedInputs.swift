// The files that a confined command reads as its standard streams, opened so that it can't change
// them.
import CLinux
import Glibc
import LupinIO

/// Standard streams that were files to read from.
///
/// What is open can be opened anew by /proc/self/fd, for writing, too, if its mount allows that. So
/// each is opened by a mount of its own, which does not; where the file has no name any more, or is
/// out of reach, it is a copy. If the command sees the file by its name, it gets it as it is there.
struct ConfinedInputs {
    /// The number at which the command has a stream, and what that stood for, which others outside
    /// have, too.
    private struct Input {
        let number: Int32
        let original: Int32
        /// Its name outside.
        let path: String
    }

    private var inputs: [Input] = []

    /// Replaces them in this process.
    ///
    /// - Parameter storage: A folder for copies.
    /// - Throws: What could not be read or copied.
    init(storage: String) throws(ConfinementProblem) {
        for stream in StandardStream.all where stream.treatment == .input {
            let number = stream.number
            try Confinement.attempt(stream.name) { () throws(SystemError) in
                let path = ProcessFiles.link("/proc/self/fd/\(number)") ?? ""
                let file: Descriptor
                // Safety: the path is NUL-terminated for the call.
                if let sealed = Self.open(stream, by: unsafe confine_copy_sealed(path)) {
                    file = sealed
                } else {
                    file = try Self.copy(of: number, in: storage)
                }
                try Self.move(file, to: number, path, &inputs)
            }
        }
    }

    /// Opens those files by their names that the command sees by these; for the process in which
    /// all is mounted.
    ///
    /// Programs ask for the name of what is open.
    mutating func findNames() {
        let before = inputs
        inputs = []
        for input in before {
            let stream = StandardStream.all.first { $0.number == input.number }
            // Safety: the path is NUL-terminated for the call.
            let name = unsafe Glibc.open(input.path, Self.byName)
            if let stream, let file = Self.open(stream, by: name) {
                try? Self.move(file, to: input.number, input.path, &inputs)
            }
            close(input.original)
        }
    }

    /// Moves the positions outside to where the command has got, so that the next reader continues
    /// there.
    func tellPositions() {
        for input in inputs {
            let position = lseek(input.number, 0, SEEK_CUR)
            if position >= 0 { lseek(input.original, position, SEEK_SET) }
        }
    }

    /// O_PATH: it names a file.
    private static let byName = 0o10_000_000 | O_CLOEXEC

    /// Has a number stand for a file, at the position of what it stood for.
    private static func move(
        _ file: borrowing Descriptor,
        to number: Int32,
        _ path: String,
        _ inputs: inout [Input]
    ) throws(SystemError) {
        let position = lseek(number, 0, SEEK_CUR)
        if position > 0 { lseek(file.raw, position, SEEK_SET) }
        let original = try SystemCall.check { fcntl(number, F_DUPFD_CLOEXEC, 4) }
        inputs.append(Input(number: number, original: original, path: path))
        let raw = file.raw
        try SystemCall.check { dup2(raw, number) }
    }

    /// Opens the file of a stream by a name for it, which is closed; nil if that names another one.
    private static func open(_ stream: StandardStream, by name: Int32) -> Descriptor? {
        guard name >= 0 else { return nil }
        let name = Descriptor(owning: name)
        guard stream.isFile(of: name.raw) else { return nil }
        let path = "/proc/self/fd/\(name.raw)"
        // Safety: the path is NUL-terminated for the call.
        let raw = SystemCall.value { unsafe Int(Glibc.open(path, O_RDONLY | O_CLOEXEC)) }
        return raw < 0 ? nil : Descriptor(owning: Int32(truncatingIfNeeded: raw))
    }

    private static func copy(
        of number: Int32,
        in storage: String
    ) throws(SystemError) -> Descriptor {
        let path = "\(storage)/input"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        // Safety: the path is NUL-terminated for the calls.
        let target = Descriptor(
            owning: try SystemCall.check { unsafe Glibc.open(path, flags, 0o600) }
        )
        defer { unsafe unlink(path) }
        let copy = Descriptor(
            owning: try SystemCall.check { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC) }
        )
        var block = [UInt8](repeating: 0, count: 256 << 10)
        var offset = 0
        while true {
            // Safety: as many bytes are filled at most as the block has.
            let count = SystemCall.value { unsafe pread(number, &block, block.count, offset) }
            if count == 0 { return copy }
            if count < 0 { throw SystemError(code: Int32(-count)) }
            try WholeWrite.write(block[..<count], to: target.raw)
            offset += count
        }
    }
}

/// Writing all of some bytes to a file.
enum WholeWrite {
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = SystemCall.value {
                // Safety: the bytes outlive the call, which reads as many.
                unsafe rest.withUnsafeBytes {
                    unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
                }
            }
            guard count > 0 else { throw SystemError(code: count == 0 ? EIO : Int32(-count)) }
            rest = rest.dropFirst(count)
        }
    }
}
