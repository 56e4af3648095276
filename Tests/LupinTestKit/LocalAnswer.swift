// A server at a path that gives one prepared answer, for what asks a running lupin.
import Foundation
import Glibc
import LupinIO

/// Listens at a path from its making on and answers each request with fixed bytes.
package final class LocalAnswer {
    package let path: String
    private let listener: Descriptor
    private let thread: Thread
    private let request = Pipe()

    package convenience init(in folder: String, answer: [UInt8]) throws {
        try self.init(at: "\(folder)/lupin.sock", answer: answer)
    }

    /// Without an answer whoever asks waits; `end` is where a question ends.
    package init(at path: String, answer: [UInt8]?, after end: String = "\r\n\r\n") throws {
        self.path = path
        listener = try LocalSocketFile.bound(at: path)
        let raw = listener.raw
        try SystemCall.check { listen(raw, 8) }
        // The thread has a descriptor of its own, whose number nobody else gets before it ends.
        let own = try SystemCall.check { fcntl(raw, F_DUPFD_CLOEXEC, 0) }
        let output = request.fileHandleForWriting
        thread = Thread {
            let listener = Descriptor(owning: own)
            guard let answer else { return }
            while case let accepted = Glibc.accept(listener.raw, nil, nil), accepted >= 0 {
                let client = FileHandle(fileDescriptor: accepted, closeOnDealloc: true)
                var head = Data()
                while head.range(of: Data(end.utf8)) == nil {
                    let more = client.availableData
                    if more.isEmpty { break }
                    head.append(more)
                }
                try? client.write(contentsOf: Data(answer))
                try? client.close()
                // Only the first one is told.
                try? output.write(contentsOf: head)
                try? output.close()
            }
        }
        thread.start()
    }

    deinit {
        // Wakes the thread, which ends.
        shutdown(listener.raw, Int32(SHUT_RDWR))
    }

    /// What was asked first; waits for the question.
    package var question: String {
        String(decoding: request.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
