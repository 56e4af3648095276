// Where `lupin curl` and `lupin explain` find an exchange: with a lupin that runs, or in a log.
import LupinCore
import LupinIO

/// Why an exchange was not found.
struct RecordProblem: Error {
    /// A sentence for people.
    let message: String
}

enum RecordedExchanges {
    /// The exchange called `id`: in the JSON lines at `log`, or else as the lupin that runs
    /// remembers it.
    static func find(
        _ id: String,
        log: String?,
        socket: String?,
        rulesFile: String?,
        on loop: EventLoop
    ) async throws(RecordProblem) -> RecordedExchange {
        if let log { return try recordedExchange(id, log: log) }
        return try await recordedExchange(id, socket: socket, rulesFile: rulesFile, on: loop)
    }

    private static func recordedExchange(
        _ id: String,
        socket: String?,
        rulesFile: String?,
        on loop: EventLoop
    ) async throws(RecordProblem) -> RecordedExchange {
        let reply: AdminReply
        do throws(AdminProblem) {
            let client = try AdminClient.locate(socket: socket, rulesFile: rulesFile)
            reply = try await client.request("GET", "/v1/exchanges/\(id)", on: loop)
        } catch {
            throw RecordProblem(message: "\(error.message); --log reads a log")
        }
        guard reply.isSuccess else { throw RecordProblem(message: reply.sentence) }
        let body = reply.body
        guard let json = JSONValue(parsing: body.span), let exchange = RecordedExchange(json) else {
            throw RecordProblem(message: "the exchange has not ended yet")
        }
        return exchange
    }

    /// `-` is standard input.
    private static func recordedExchange(
        _ id: String,
        log path: String
    ) throws(RecordProblem) -> RecordedExchange {
        var file: TailedFile
        do throws(SystemError) {
            file = try TailedFile(path: path == "-" ? nil : path)
        } catch {
            throw RecordProblem(message: "cannot open \(path): \(error.message)")
        }
        var bytes: [UInt8] = []
        var isOpen = true
        while isOpen {
            do throws(SystemError) {
                isOpen = try file.read(into: &bytes)
            } catch {
                throw RecordProblem(message: "cannot read \(path): \(error.message)")
            }
            if !isOpen { bytes.append(0x0A) }
            guard let last = bytes.lastIndex(of: 0x0A) else { continue }
            if let found = find(id, in: bytes[...last]) { return found }
            bytes.removeSubrange(...last)
        }
        throw RecordProblem(message: "there is no exchange \(id) in \(path == "-" ? "it" : path)")
    }

    private static func find(_ id: String, in lines: ArraySlice<UInt8>) -> RecordedExchange? {
        let wanted = Array(#""id":"\#(id)""#.utf8)
        for line in lines.split(separator: 0x0A) where line.firstRange(of: wanted) != nil {
            let bytes = Array(line)
            guard let json = JSONValue(parsing: bytes.span), let found = RecordedExchange(json),
                found.id == id
            else { continue }
            return found
        }
        return nil
    }
}
