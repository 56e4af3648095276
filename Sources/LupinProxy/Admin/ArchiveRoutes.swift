// The routes for HTTP Archives: exchanges as one, and those that the inspector is to show.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinStore

/// The archives that were handed over to be shown; confined to the control loop.
final class ArchiveShelf {
    /// More archives than that push out the oldest.
    private static let countMax = 4

    private var archives: [(number: Int, bytes: [UInt8])] = []
    private var lastNumber = 0

    /// Keeps an archive; returns its number.
    func add(_ bytes: [UInt8]) -> Int {
        lastNumber += 1
        archives.append((lastNumber, bytes))
        if archives.count > Self.countMax { archives.removeFirst() }
        return lastNumber
    }

    /// The archive with this number; nil if it is gone, or never was there.
    func archive(_ number: Int) -> [UInt8]? { archives.first { $0.number == number }?.bytes }
}

/// The routes `/v1/har` and those below `/v1/archives`; confined to the control loop.
struct ArchiveRoutes {
    let shelf: ArchiveShelf
    let exchanges: ExchangeRoutes

    /// Exchanges in one archive unless `limit` says otherwise.
    private static let usualCount = 10_000
    /// The length of an archive; the oldest exchanges that would exceed it are left out.
    private static let bytesMax = 64 << 20

    private var shared: Shared { exchanges.shared }

    /// An archive that was handed over.
    func kept(_ name: Substring) throws(AdminAnswer) -> AdminAnswer {
        guard let number = QueryParameters.count(name) else { throw AdminRoute.nothing }
        guard let bytes = shelf.archive(number) else {
            throw AdminAnswer(404, sentence: "this archive is gone; run lupin har show again")
        }
        return AdminAnswer("application/json", bytes)
    }

    // MARK: What ran through lupin

    /// The exchanges that a request asks for, as an archive.
    func archive(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer {
        let count = try request.count("limit") ?? Self.usualCount
        let filter = try exchanges.filter(request)
        var format = RecordFormat(redactor: shared.redactor)
        let (found, _) = try await exchanges.latest(count, by: filter, &format)
        var entries: [ArchiveEntry] = []
        var room = Self.bytesMax
        var left = found.count
        // The latest first: if not all of them fit, it is the oldest that are left out.
        for one in found {
            let entry = try await entry(of: one, &format, room: room)
            if let entry {
                guard entry.bytes.count < room else { break }
                room -= entry.bytes.count + 1
                entries.append(entry)
            }
            left -= 1
        }
        var archive = HTTPArchive(version: exchanges.version)
        for entry in entries.reversed() { archive.add(entry) }
        var note: String?
        if left > 0 {
            note = "cut at \(Self.bytesMax >> 20) MiB: \(left) older exchanges are left out"
        } else if found.count >= count {
            note = "these are the last \(count) exchanges"
        }
        var answer = AdminAnswer("application/json", archive.finish(note: note))
        answer.fields = [("Content-Disposition", "attachment; filename=\"lupin.har\"")]
        return answer
    }

    private func entry(
        of found: ExchangeRoutes.Found,
        _ format: inout RecordFormat,
        room: Int
    ) async throws(AdminAnswer) -> ArchiveEntry? {
        var detail = found.openDetail(&format)
        detail.closeObject()
        let (id, bytes) = (found.id, detail.bytes)
        guard shared.captures.mayHaveExchanges else {
            return JSONValue(parsing: bytes.span).flatMap { ArchiveEntry($0) }
        }
        // Also one in memory may be captured.
        let result = await shared.captures.read(on: exchanges.loop) {
            file throws(DiskProblem) -> ArchiveEntry? in
            guard let json = JSONValue(parsing: bytes.span) else { return nil }
            guard let row = try file.exchanges(withPrefix: id, limit: 1).first else {
                return ArchiveEntry(json)
            }
            return ArchiveEntry(json, try file.archivedBodies(of: row.number, room: room))
        }
        switch result {
        case .success(let entry): return entry
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
    }

    // MARK: What is to be shown

    /// Keeps an archive.
    func taken(_ request: AdminRequest) throws(AdminAnswer) -> AdminAnswer {
        try request.demandJSON()
        do throws(ArchiveProblem) {
            try ArchiveReader.check(request.body.span)
        } catch {
            throw AdminAnswer(400, sentence: error.sentence)
        }
        let number = shelf.add(request.body)
        return AdminAnswer(201) { $0.add("archive", UInt64(number)) }
    }
}
