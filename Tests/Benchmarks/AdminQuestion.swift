// How a lupin that runs is asked for what it is doing.
import LupinCore
import LupinIO
import Synchronization

/// One request to a lupin's admin socket.
enum AdminQuestion {
    /// The body of the answer; a loop of its own runs until it is there.
    static func answer(to target: String, at socket: String) throws -> [UInt8] {
        let executor = LoopExecutor()
        let loop = try EventLoop(executor: executor)
        let found = Found()
        Task(executorPreference: executor) {
            let answer = await ask(target, at: socket, on: executor.loop)
            found.answer.withLock { $0 = answer }
            executor.loop.stop()
        }
        loop.run()
        return try found.answer.withLock { $0 }.get()
    }

    private final class Found: Sendable {
        let answer = Mutex(Result<[UInt8], BenchError>.failure(BenchError("no answer")))
    }

    private static func ask(
        _ target: String,
        at socket: String,
        on loop: EventLoop
    ) async -> Result<[UInt8], BenchError> {
        let link = LoadLink(on: loop)
        do throws(SystemError) {
            let channel = try LocalSocket.connect(to: socket, on: loop)
            defer { channel.close() }
            channel.slot = link.slot
            channel.readableReason = .upstreamReadable
            channel.writableReason = .upstreamWritable
            let lines = ["GET \(target) HTTP/1.1", "Host: lupin", "Connection: close", "", ""]
            do throws(LoadError) {
                try await link.send(Array(lines.joined(separator: "\r\n").utf8), on: channel)
                let (status, head) = try await link.receiveHead(on: channel)
                guard status == 200, let length = head.contentLength else {
                    return .failure(BenchError("\(target) was answered with \(status)"))
                }
                while channel.input.count < length { try await link.receive(on: channel) }
                let input = channel.input
                return .success([UInt8](copying: input.bytes))
            } catch {
                return .failure(BenchError("\(target): \(error)"))
            }
        } catch {
            return .failure(BenchError("no lupin at \(socket): \(error.message)"))
        }
    }
}
