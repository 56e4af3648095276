// How a file becomes the answer to a request, where `respond` names it or a folder.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore
import LupinUpstream
import LupinWire

/// What lies where `respond` points to.
enum MappedFile: Sendable {
    /// What its head says of a file.
    struct Facts: Sendable {
        /// The name decides about the type.
        let name: String
        let tag: String
        /// In seconds since 1970.
        let modified: Int64
        let length: UInt64
        /// Its mode says that it is for its owner alone.
        let isPrivate: Bool
    }

    case file(OpenedFile, Facts)
    /// A folder, and the path does not end with a slash: links in it would lead astray.
    case folder
    /// Why there is nothing to be had, by the kernel's words.
    case nothing(SystemError)

    /// Opens the file at a path, which may block.
    init(path: String, followsLinks: Bool) {
        do throws(SystemError) {
            guard !followsLinks, let slash = path.lastIndex(of: "/") else {
                try self.init(try ReadableFile(path: path), name: path, isFolder: false)
                return
            }
            let name = String(path[path.index(after: slash)...])
            let found = try ReadableFile([name], below: String(path[..<slash]))
            try self.init(found, name: name, isFolder: false)
        } catch {
            self = .nothing(error)
        }
    }

    /// Opens the file that a path below a folder names, or an index, which may block.
    init(_ path: FolderPath, below folder: String) {
        do throws(SystemError) {
            let found = try ReadableFile(path.names, below: folder)
            guard found.isFolder, path.isFolder else {
                try self.init(found, name: path.names.last ?? "", isFolder: path.isFolder)
                return
            }
        } catch {
            self = .nothing(error)
            return
        }
        self = .nothing(SystemError.absence)
        for index in FolderPath.indexes {
            guard let found = try? ReadableFile(path.names + [index], below: folder),
                !found.isFolder, let file = try? MappedFile(found, name: index, isFolder: false)
            else { continue }
            self = file
            return
        }
    }

    private init(
        _ found: consuming ReadableFile,
        name: String,
        isFolder: Bool
    ) throws(SystemError) {
        if found.isFolder {
            self = .folder
            return
        }
        // `/users/` is no file.
        guard !isFolder else { throw .absence }
        let (length, modified, isPrivate) = (found.length, found.modified, found.isPrivate)
        var digits: [UInt8] = []
        digits.append(hex: UInt64(bitPattern: modified), digits: 16)
        digits.append(0x2D)
        digits.append(hex: length, digits: 8)
        let facts = Facts(
            name: name,
            tag: "\"\(String(decoding: digits, as: UTF8.self))\"",
            modified: modified / 1_000_000_000,
            length: length,
            isPrivate: isPrivate
        )
        self = .file(OpenedFile(owning: found.release(), length: length), facts)
    }
}

extension Exchange {
    /// Sends the file that a rule's `respond` names, as conditions and ranges want it.
    func sendFile(_ canned: CannedResponse) async throws(LupinError) {
        let found: MappedFile
        switch canned.content {
        case .none, .text: return try await send(response(canned))
        case .file(let path):
            let followsLinks = canned.followsLinks
            found = try await look { MappedFile(path: path, followsLinks: followsLinks) }
        case .folder(let folder):
            if let refusal = cannedAnswer.refusal(ofMethod: request.method) {
                return try await say(refusal)
            }
            guard let path = mappedPath else {
                return try await say(cannedAnswer.absence)
            }
            found = try await look { MappedFile(path, below: folder) }
        }
        switch found {
        case .file(let file, let facts):
            if facts.isPrivate, !canned.namesFile { try await demandOwner() }
            try await send(canned, file, facts)
        case .folder: try await say(cannedAnswer.ahead(of: request))
        case .nothing(let error) where error.isDeadEnd && !canned.namesFile:
            try await say(cannedAnswer.absence)
        case .nothing(let error):
            throw LupinError(
                .proxyInternalError,
                host: record.origin?.host.text,
                detail: "The file by which the \(plan?.respondingRule ?? "rule") answers can't be "
                    + "read: \(error.message).",
                side: .config,
                retry: .never,
                status: 502
            )
        }
    }

    /// Refuses other users, and pages of other sites, what a folder has for its owner alone, where
    /// nobody has named that file.
    private func demandOwner() async throws(LupinError) {
        if let plan, let origin = redirectedTo ?? record.origin,
            let page = plan.refusedPageOfFile(in: foreignPages(at: origin))
        {
            throw .request(
                status: 403,
                host: origin.host.text,
                detail: Plan.refusal(ofFileFor: page, at: origin)
            )
        }
        let users = snapshot.credentialUsers
        if users.admitsAnybody { return }
        if users.admits(await clientUser()) { return }
        throw .request(
            status: 403,
            host: record.origin?.host.text,
            detail: "The file is one that its owner alone may read, so only user \(users.owner) "
                + "gets it; chmod a+r lets all clients have it, and access.credentials says who "
                + "else may."
        )
    }

    /// What of the request's path is below the path that the rule spells out.
    private var mappedPath: FolderPath? {
        guard let rule = plan?.respondingIndex, let origin = redirectedTo ?? record.origin
        else { return nil }
        let target = Array(request.pathText.utf8)
        let skipped = snapshot.rules.rules[rule].spelledSegments(of: target.span, for: origin)
        return FolderPath(target.span, skipping: skipped)
    }

    /// Has the helper thread look for a file.
    private func look(
        _ job: @escaping @Sendable () -> MappedFile
    ) async throws(LupinError) -> MappedFile {
        guard let found = try await onBodyThread(job) else {
            throw LupinError(
                .proxyInternalError,
                detail: "The disk of the rule's file does not answer.",
                retry: .never,
                status: 503
            )
        }
        return found
    }

    /// Runs a job on the thread for bodies; nil where it takes too long or has too much to do.
    func onBodyThread<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value
    ) async throws(LupinError) -> Value? {
        let promise = Promise<Value>(slot)
        defer { promise.close() }
        let reply = promise.reply
        guard resources.shared.bodyThread.submit({ reply(job()) }) else { return nil }
        let deadline = min(slot.loop.deadline(in: Self.bodyThreadTimeout), totalDeadline)
        while promise.isOpen, slot.loop.now < deadline {
            try await park(.bodyThread, for: .answered, until: deadline)
        }
        return promise.answer
    }

    private static let bodyThreadTimeout = Duration.seconds(10)

    private func send(
        _ canned: CannedResponse,
        _ file: OpenedFile,
        _ facts: MappedFile.Facts
    ) async throws(LupinError) {
        let served = cannedAnswer.served(facts, by: canned, to: request, nowUs: resources.wallNow)
        guard let served else { return try await say(cannedAnswer.change) }
        note(canned)
        let sink = try begin(served.head, length: served.contentLength, isByRule: true)
        let isBodiless = ResponseParser.hasNoBody(
            status: served.head.status,
            method: request.method
        )
        let thread = resources.shared.bodyThread
        let source: any BodySource =
            isBodiless ? BytesBody([]) : fileBody(file, served) { thread.submit($0) }
        try await relay(from: source, to: sink)
    }

    /// Says something short that is no file.
    private func say(_ canned: CannedResponse) async throws(LupinError) {
        try await send(response(canned, isRefusal: false))
    }
}
