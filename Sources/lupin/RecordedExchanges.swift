// Finds a past exchange, in a running lupin or in a log.
import LupinCore
import LupinIO
import LupinRecords

/// The reason for which an exchange was not found.
struct RecordProblem: Error {
    /// A sentence for users.
    let message: String
}

enum RecordedExchanges {
    /// Finds the exchange that `reference` names, in the JSON lines at `log` or else in the memory
    /// of the running lupin, or of what is left without one.
    static func find(
        _ reference: ExchangeReference,
        log: String?,
        socket: String?,
        rulesFile: String?,
        on loop: EventLoop
    ) async throws(RecordProblem) -> RecordedExchange {
        if let log { return try logged(reference, in: log).exchange }
        return try await recordedExchange(
            reference,
            socket: socket,
            rulesFile: rulesFile,
            on: loop
        )
    }

    /// The same, found from the main thread.
    static func find(
        _ reference: ExchangeReference,
        log: String?,
        socket: String?,
        rulesFile: String?
    ) throws(RecordProblem) -> RecordedExchange {
        if let log { return try logged(reference, in: log).exchange }
        return try remembered(reference, socket: socket, rulesFile: rulesFile)
    }

    /// Finds the exchange in the memory of the running lupin, from the main thread.
    static func remembered(
        _ reference: ExchangeReference,
        socket: String?,
        rulesFile: String?
    ) throws(RecordProblem) -> RecordedExchange {
        let found: Result<RecordedExchange, RecordProblem>? = try? ControlLoop.value { executor in
            do throws(RecordProblem) {
                return .success(
                    try await recordedExchange(
                        reference,
                        socket: socket,
                        rulesFile: rulesFile,
                        on: executor.loop
                    )
                )
            } catch {
                return .failure(error)
            }
        }
        guard let found else { throw RecordProblem(message: "there is no loop to ask from") }
        return try found.get()
    }

    private static func recordedExchange(
        _ reference: ExchangeReference,
        socket: String?,
        rulesFile: String?,
        on loop: EventLoop
    ) async throws(RecordProblem) -> RecordedExchange {
        let reply: AdminReply
        do throws(AdminProblem) {
            let client = try AdminClient.locate(socket: socket, rulesFile: rulesFile)
            reply = try await client.request(
                "GET",
                "/v1/exchanges/\(reference.path)",
                bytesMax: AdminClient.exchangesBytesMax,
                on: loop
            )
        } catch {
            if error.isAbsence, socket == nil {
                let logs = LocatedLog.left(rulesFile: rulesFile)
                let found = try logged(reference, in: logs, "no lupin answers; ")
                if let found { return found }
            }
            throw RecordProblem(message: "\(error.message); --log reads a log")
        }
        guard reply.isSuccess else {
            // The last one of a lupin that runs is the last of all; a command's may have any ID.
            if reply.status == 404, socket == nil, case .id = reference {
                let logs = LocatedLog.ofExec.filter { FileStatus(path: $0) != nil }
                if let found = try? logged(reference, in: logs, "") { return found }
            }
            throw RecordProblem(message: reply.sentence)
        }
        let body = reply.body
        guard let json = JSONValue(parsing: body.span) else {
            throw RecordProblem(message: "lupin's answer can't be read")
        }
        if let exchange = RecordedExchange(json) { return exchange }
        guard let live = json["live"] else {
            throw RecordProblem(message: "lupin's answer has no exchange")
        }
        throw RecordProblem(message: "the exchange is under way: \(LiveLine(live).text)")
    }

    /// What the running lupin captured of a body; nil if it has let it go meanwhile.
    static func body(
        _ side: String,
        of exchange: RecordedExchange,
        socket: String?,
        rulesFile: String?,
        on loop: EventLoop
    ) async -> [UInt8]? {
        let path = "/v1/exchanges/\(exchange.id)/bodies/\(side)"
        guard let client = try? AdminClient.locate(socket: socket, rulesFile: rulesFile),
            let reply = try? await client.request(
                "GET",
                path,
                bytesMax: AdminClient.exchangesBytesMax,
                on: loop
            )
        else { return nil }
        return reply.isSuccess ? reply.body : nil
    }

    // MARK: In a log

    /// The exchange in the first of the logs that has it, with a word about that; nil without logs.
    private static func logged(
        _ reference: ExchangeReference,
        in logs: [String],
        _ cause: String
    ) throws(RecordProblem) -> RecordedExchange? {
        var problem: RecordProblem?
        for log in logs {
            do throws(RecordProblem) {
                let found = try logged(reference, in: log).exchange
                StandardError.print("lupin: \(cause)this is \(LocatedLog.word(for: log))")
                return found
            } catch {
                problem = problem ?? error
            }
        }
        if let problem { throw problem }
        return nil
    }

    /// The exchange and its line; `-` is standard input.
    static func logged(
        _ reference: ExchangeReference,
        in path: String
    ) throws(RecordProblem) -> (exchange: RecordedExchange, line: JSONValue) {
        var search = LogSearch(reference)
        try LogLines.read(path) { search.look(at: $0) }
        do throws(ExchangeReferenceProblem) {
            return try search.result()
        } catch .unknown {
            let source = path == "-" ? "standard input" : path
            throw RecordProblem(message: "\(source) has no such exchange")
        } catch {
            throw RecordProblem(message: error.sentence)
        }
    }
}

/// A search through the lines of a log.
private struct LogSearch {
    private let reference: ExchangeReference
    /// The bytes that a line must contain to be parsed, however its JSON is spaced.
    private let needle: [UInt8]
    /// The matches, the latest last: all with the id, or at most as many as are counted back.
    private var found: [(exchange: RecordedExchange, line: JSONValue)] = []

    init(_ reference: ExchangeReference) {
        self.reference = reference
        switch reference {
        case .id(let digits): needle = Array("\"\(digits)".utf8)
        case .last: needle = Array("\"id\"".utf8)
        }
    }

    mutating func look(at line: ArraySlice<UInt8>) {
        guard line.span.firstRange(of: needle.span) != nil else { return }
        let bytes = Array(line)
        guard let json = JSONValue(parsing: bytes.span), let exchange = RecordedExchange(json)
        else { return }
        take(exchange, json)
    }

    private mutating func take(_ exchange: RecordedExchange, _ line: JSONValue) {
        switch reference {
        case .id(let digits):
            guard exchange.id.hasPrefix(digits) else { return }
            found.removeAll { $0.exchange.id == exchange.id }
            found.append((exchange: exchange, line: line))
        case .last(let ordinal, let filter):
            guard filter.matches(line, now: SystemCall.wallMicroseconds()) else { return }
            found.append((exchange: exchange, line: line))
            if found.count > ordinal { found.removeFirst() }
        }
    }

    func result() throws(ExchangeReferenceProblem)
        -> (exchange: RecordedExchange, line: JSONValue)
    {
        switch reference {
        case .id:
            guard let first = found.first else { throw .unknown }
            guard found.count == 1 else { throw .ambiguous(found.prefix(5).map(\.exchange.id)) }
            return first
        case .last(let ordinal, _):
            guard found.count == ordinal, let first = found.first else { throw .unknown }
            return first
        }
    }
}
