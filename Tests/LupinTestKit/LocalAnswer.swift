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

    package init(in folder: String, answer: [UInt8]) throws {
        let path = "\(folder)/lupin.sock"
        self.path = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // Safety: the buffer is `sun_path`, and its last byte stays 0.
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard bytes.count < place.count else { return false }
            for i in bytes.indices { unsafe place[i] = bytes[i] }
            return true
        }
        guard fits else { throw SocketFailure("\(path) is too long for a socket") }
        let raw = try SystemCall.check {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        listener = Descriptor(owning: raw)
        // Safety: a `sockaddr_un` is what bind(2) takes for AF_UNIX; it is only read.
        try SystemCall.check {
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        try SystemCall.check { listen(raw, 1) }
        let output = request.fileHandleForWriting
        thread = Thread {
            let accepted = Glibc.accept(raw, nil, nil)
            guard accepted >= 0 else { return }
            let client = FileHandle(fileDescriptor: accepted, closeOnDealloc: true)
            var head = Data()
            while head.range(of: Data("\r\n\r\n".utf8)) == nil {
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
