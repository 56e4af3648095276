// Writes to files outside what a confined command prints.
import CLinux
import Glibc
package import LupinIO
import Synchronization

/// The standard streams that are files to write to: the command gets pipes, and can neither read
/// what is in a file already nor take it away.
package final class OutputRelay {
    /// As much as the kernel lets an ordinary user have in a pipe.
    private static let pipeBytes: Int32 = 1 << 20

    /// A pipe, and the file that its bytes go to.
    private final class Branch: Sendable {
        /// Until the thread has it.
        let reading: Mutex<Descriptor?>
        let file: Descriptor
        let stop: Descriptor
        let thread: HelperThread
        let failure = Mutex<SystemError?>(nil)

        init(
            _ reading: consuming sending Descriptor,
            to stream: StandardStream,
            stop: Int32
        ) throws(SystemError) {
            self.reading = Mutex(reading)
            let number = stream.number
            file = Descriptor(owning: try SystemCall.check { fcntl(number, F_DUPFD_CLOEXEC, 3) })
            self.stop = Descriptor(owning: try SystemCall.check { fcntl(stop, F_DUPFD_CLOEXEC, 3) })
            do {
                thread = try HelperThread(name: "lupin-output", capacity: 1)
            } catch {
                throw SystemError(code: error.code)
            }
        }
    }

    private var branches: [Branch] = []
    /// The ends that the command gets, until it has begun.
    private var writing: [(streams: [StandardStream], end: Int32)] = []
    /// Its end is closed when the command has ended.
    private var (stopped, stop): (Int32, Int32) = (-1, -1)

    /// Gives a command pipes for those of this process's streams that are such files.
    ///
    /// - Returns: nil if none is.
    package init?(for launch: inout ChildLaunch) throws(SystemError) {
        let streams = StandardStream.all.filter { $0.treatment == .output }
        if streams.isEmpty { return nil }
        // Safety: the call fills both numbers.
        try SystemCall.check { unsafe linux_pipe(&stopped, &stop) }
        for stream in streams {
            if let index = writing.firstIndex(where: { $0.streams[0].isOne(with: stream) }) {
                writing[index].streams.append(stream)
                continue
            }
            var (reading, end): (Int32, Int32) = (-1, -1)
            // Safety: the call fills both numbers.
            try SystemCall.check { unsafe linux_pipe(&reading, &end) }
            writing.append(([stream], end))
            _ = linux_set_pipe_size(end, Self.pipeBytes)
            // The command's end waits, as files do.
            try SystemCall.check { fcntl(end, F_SETFL, 0) }
            branches.append(try Branch(Descriptor(owning: reading), to: stream, stop: stopped))
        }
        launch.replacedStreams = writing.flatMap { pipe in
            pipe.streams.map { (pipe.end, $0.number) }
        }
    }

    deinit { close() }

    /// Begins to write, when the command has its ends.
    package func begin() {
        for pipe in writing { Glibc.close(pipe.end) }
        writing = []
        for branch in branches { branch.thread.submit { Self.relay(branch) } }
    }

    /// Writes what is left, when the command has ended.
    /// - Returns: Why not all was written.
    package func finish() -> SystemError? {
        close()
        for branch in branches { branch.thread.join() }
        return branches.lazy.compactMap { $0.failure.withLock { $0 } }.first
    }

    private func close() {
        for pipe in writing { Glibc.close(pipe.end) }
        writing = []
        for end in [stopped, stop] where end >= 0 { Glibc.close(end) }
        (stopped, stop) = (-1, -1)
    }

    /// Writes to the file until every other end of the pipe is closed, or the command has ended and
    /// the pipe is empty: a process outside may have got one from it.
    ///
    /// By write(2), which moves the position of a file in step with others who write to it.
    private static func relay(_ branch: Branch) {
        // Closed at the end: a program that writes on after a failure gets SIGPIPE, or EPIPE.
        guard let reading = branch.reading.withLock({ $0.take() }) else { return }
        var block = [UInt8](repeating: 0, count: 256 << 10)
        do throws(SystemError) {
            while isReadable(reading, branch) {
                // Safety: as many bytes are filled at most as the block has.
                let count = SystemCall.value { unsafe read(reading.raw, &block, block.count) }
                if count == 0 { return }
                // The command may read from its end, too.
                if count == -Int(EAGAIN) { continue }
                if count < 0 { throw SystemError(code: Int32(-count)) }
                try WholeWrite.write(block[..<count], to: branch.file.raw)
            }
        } catch {
            branch.failure.withLock { $0 = error }
        }
    }

    /// Waits until there is something to read; false when nothing will come.
    private static func isReadable(_ reading: borrowing Descriptor, _ branch: Branch) -> Bool {
        var entries = [
            pollfd(fd: reading.raw, events: Int16(POLLIN), revents: 0),
            pollfd(fd: branch.stop.raw, events: Int16(POLLIN), revents: 0),
        ]
        // Safety: poll fills the two entries it is given.
        _ = SystemCall.value { unsafe Int(poll(&entries, 2, -1)) }
        return entries[0].revents != 0 || entries[1].revents == 0
    }
}
