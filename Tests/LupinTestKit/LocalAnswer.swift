// A server at a path that gives one prepared answer, for what asks a running lupin.
import Foundation
import Glibc
import LupinIO

/// Listens at a path from its making on and answers the first request with fixed bytes.
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
        try SystemCall.check { listen(raw, 1) }
        let output = request.fileHandleForWriting
        thread = Thread {
            guard let answer else { return }
            let accepted = Glibc.accept(raw, nil, nil)
            guard accepted >= 0 else { return }
            let client = FileHandle(fileDescriptor: accepted, closeOnDealloc: true)
            var head = Data()
            while head.range(of: Data(end.utf8)) == nil {
                let more = client.availableData
                if more.isEmpty { break }
                head.append(more)
            }
            try? client.write(contentsOf: Data(answer))
            try? client.close()
            try? output.write(contentsOf: head)
            try? output.close()
        }
        thread.start()
    }

    /// What was asked; waits for the question.
    package var question: String {
        String(decoding: request.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
