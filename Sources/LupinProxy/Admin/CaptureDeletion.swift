// What of the capture is deleted on request: everything, what a filter keeps, or one exchange.
import LupinCore
import LupinIO
import LupinRecords
import LupinStore

extension InspectorRoutes {
    /// Exchanges that are deleted at once; between two pieces others may write.
    private static let pieceCount = 256

    /// Deletes what a request names: the exchanges that its filter keeps, or without one all.
    /// - Returns: How many; nil for all.
    func delete(by request: AdminRequest) async throws(AdminAnswer) -> Int? {
        guard let text = request.parameter("filter") else {
            try await write { file throws(DiskProblem) in try file.clear() }
            return nil
        }
        guard text.contains(where: { !$0.isWhitespace }) else {
            let sentence = "an empty filter keeps everything; leave it out to delete everything"
            throw AdminAnswer(400, sentence: sentence)
        }
        return try await delete(by: try exchanges.filter(request))
    }

    private func delete(by filter: ExchangeFilter) async throws(AdminAnswer) -> Int {
        guard shared.captures.mayHaveExchanges else { return 0 }
        // Behind all that was handed over so far.
        try await write { _ throws(DiskProblem) in }
        let now = SystemCall.wallMicroseconds()
        var query = CaptureQuery(filter, now: now)
        var count = 0
        while true {
            let rest = query
            let found = try await read { file throws(DiskProblem) in
                try file.latest(
                    Self.pieceCount,
                    rest,
                    by: filter,
                    before: nil,
                    except: [],
                    now: now
                ).map(\.number)
            }
            guard let last = found.last else { return count }
            try await write { file throws(DiskProblem) in try file.delete(found) }
            count += found.count
            query.before = last
        }
    }

    /// Deletes what is captured of an exchange that has ended.
    func delete(_ reference: ExchangeReference) async throws(AdminAnswer) -> AdminAnswer {
        let row = try await row(reference)
        guard !row.line.isEmpty else {
            throw AdminAnswer(409, sentence: "the exchange is under way; cut it first")
        }
        try await write { file throws(DiskProblem) in try file.delete([row.number]) }
        return AdminAnswer { $0.add("deleted", 1 as UInt64) }
    }
}
