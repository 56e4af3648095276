// Makes a tape of what was captured while a command ran.
package import LupinRecords
import LupinStore

/// What was recorded of a command.
package struct TapeRecording: Sendable {
    /// The tape: an HTTP Archive.
    package let archive: [UInt8]
    package let exchanges: Int
    /// Connections that were not decrypted, so that nothing of them is on the tape.
    package let tunnels: Int
    /// Exchanges whose response broke off, and is replayed so.
    package let brokenOff: Int
    /// Exchanges whose response is an error of lupin's own, and no server's.
    package let ownAnswers: Int

    /// The length of a tape.
    package static let bytesMax = 128 << 20

    /// Reads what a proxy has captured in `folder` that has stopped.
    ///
    /// `version` is lupin's, and `bytesMax` the maximum length of the tape.
    /// - Throws: Why no tape can be made; what would be missing on it.
    package init(
        from folder: String,
        version: String,
        bytesMax: Int = Self.bytesMax
    ) throws(ArchiveProblem) {
        var draft = Draft(version: version, bytesMax: bytesMax)
        if CaptureFile.exists(in: folder) {
            do throws(DiskProblem) {
                let file = try CaptureFile(folder: folder)
                defer { file.close() }
                try draft.add(all: file)
            } catch {
                throw ArchiveProblem("what was recorded can't be read: \(error)")
            }
        }
        if let problem = draft.problem { throw problem }
        archive = draft.archive.finish()
        exchanges = draft.exchanges
        tunnels = draft.tunnels
        brokenOff = draft.brokenOff
        ownAnswers = draft.ownAnswers
    }

    private struct Draft {
        var archive: HTTPArchive
        var exchanges = 0
        var tunnels = 0
        var brokenOff = 0
        var ownAnswers = 0
        var problem: ArchiveProblem?
        private let bytesMax: Int

        init(version: String, bytesMax: Int) {
            archive = HTTPArchive(version: version)
            self.bytesMax = bytesMax
        }

        /// Adds all exchanges, or those up to one that is not whole.
        mutating func add(all file: CaptureFile) throws(DiskProblem) {
            var begun: [(start: Int64, id: String)] = []
            // Not the exchanges themselves: there may be many.
            try file.forEachLatest(CaptureQuery()) { exchange in
                begun.append((exchange.start, exchange.id))
                return true
            }
            // Workers hand over what they have at different times.
            begun.sort { $0.start < $1.start }
            for (_, id) in begun where problem == nil {
                guard let row = try file.exchanges(withPrefix: id, limit: 1).first else { continue }
                if row.method == "CONNECT" {
                    if row.status / 100 == 2 { tunnels += 1 }
                    continue
                }
                // Room for one entry that is too long, so that it is known to be.
                let bodies = try file.archivedBodies(of: row.number, room: 2 * bytesMax)
                guard let entry = ArchiveEntry(captured: row, bodies) else { continue }
                problem = Self.loss(in: bodies, of: entry.url)
                archive.add(entry)
                exchanges += 1
                if entry.isBrokenOff { brokenOff += 1 }
                if entry.isOwnAnswer { ownAnswers += 1 }
                if archive.count > bytesMax {
                    problem = ArchiveProblem("it is longer than \(bytesMax >> 20) MiB")
                }
            }
        }

        /// What would be missing on the tape; nil if nothing is that lupin should have had.
        private static func loss(in bodies: ArchivedBodies, of url: String) -> ArchiveProblem? {
            for (body, what) in [(bodies.request, "request"), (bodies.response, "response")] {
                guard let body else { continue }
                let subject = "the body of the \(what) for \(url)"
                if !body.withheld.isEmpty {
                    return ArchiveProblem("\(subject) is missing: \(body.withheld)")
                }
                switch CaptureLoss(rawValue: body.truncated) {
                // The client, or the origin, ended it early: that is what happened.
                case nil, .end: continue
                case .limit:
                    let mebibytes = Tape.bodyBytesMax >> 20
                    return ArchiveProblem("\(subject) is longer than \(mebibytes) MiB")
                case .writer:
                    return ArchiveProblem("\(subject) came faster than it could be recorded")
                case .coding:
                    return ArchiveProblem("\(subject) has a content coding that is broken")
                case .mask:
                    return ArchiveProblem("\(subject) could not be searched for secrets to its end")
                }
            }
            return nil
        }
    }
}
