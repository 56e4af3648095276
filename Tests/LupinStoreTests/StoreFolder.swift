// A store of a test's own in a folder of its own: putting bodies in, reading them, spoiling files.

import Foundation
import Glibc
import LupinStore
import Testing

/// A folder for one store, gone with the fixture.
final class StoreFolder: Sendable {
    let path: String

    init() {
        path = "\(NSTemporaryDirectory())/lupin-store-\(UUID().uuidString)"
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open(
        bytesMax: Int = 1 << 30,
        objectBytesMax: Int = 1 << 24,
        spareBytes: Int = 0
    ) throws -> DiskStore {
        let limits = DiskLimits(
            bytesMax: bytesMax,
            objectBytesMax: objectBytesMax,
            spareBytes: spareBytes
        )
        return try DiskStore(folder: path, limits: limits)
    }

    /// What a kill would leave now: the folder as it is, while the store is open.
    func copy() throws -> StoreFolder {
        let copy = StoreFolder()
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }

    /// Writes rows without bodies, in less time than commits take.
    ///
    /// The keys are k1, k2 and so on, stored and used at 1, 2 and so on; each has 20 bytes.
    func fill(_ count: Int) throws {
        try open().close()
        try Database(path: indexPath).change { db in
            try db.run(
                """
                WITH RECURSIVE number (n) AS
                    (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                INSERT INTO entry (id, key_hash, url_hash, bytes, length, checksum, stored,
                                   used, uses, key, url, facts)
                SELECT n, n * 7919, n, 20, 10, 0, n, n, 0, 'k' || n, 'u' || n, zeroblob(10)
                FROM number
                """,
                [count]
            )
        }
    }

    // MARK: Files

    /// Whether a file of the index has these words in it.
    func holds(_ words: String) throws -> Bool {
        try ["", "-wal", "-journal"].contains { suffix in
            let path = indexPath + suffix
            guard FileManager.default.fileExists(atPath: path) else { return false }
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            return data.firstRange(of: Data(words.utf8)) != nil
        }
    }

    var indexPath: String { "\(path)/index.sqlite" }

    func bodyPath(_ id: Int64) -> String {
        let shelf = String(UInt8(truncatingIfNeeded: id), radix: 16)
        return "\(path)/bodies/\(shelf.count < 2 ? "0" : "")\(shelf)/\(id)"
    }

    /// The names of files in a folder and those below it.
    func names(in folder: String) -> [String] {
        let all = try? FileManager.default.subpathsOfDirectory(atPath: "\(path)/\(folder)")
        return (all ?? []).filter { name in
            let file = "\(path)/\(folder)/\(name)"
            let facts = try? FileManager.default.attributesOfItem(atPath: file)
            return facts?[.type] as? FileAttributeType != .typeDirectory
        }
        .sorted()
    }

    func bytes(of file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: file)))
    }

    func write(_ bytes: [UInt8], to file: String) throws {
        try Data(bytes).write(to: URL(filePath: file))
    }

    func remove(_ file: String) throws { try FileManager.default.removeItem(atPath: file) }

    func setMode(of file: String, to mode: mode_t) throws {
        // Safety: the path is NUL-terminated for the call.
        let result = unsafe chmod(file, mode)
        try #require(result == 0)
    }

    /// Gives a file, or a link itself, to a user who is nobody here.
    func giveAway(_ file: String) throws {
        // Safety: the path is NUL-terminated for the call.
        let result = unsafe lchown(file, 65_534, 65_534)
        try #require(result == 0)
    }

    /// What the index has of an entry with the key "a" and the usual URL.
    static let textBytes = "ahttps://example.org/".utf8.count

    /// The permissions of a file, without its kind.
    func mode(of file: String) throws -> mode_t {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        let result = unsafe lstat(file, &status)
        try #require(result == 0)
        return status.st_mode & 0o7777
    }
}

/// Bytes in which one that is lost, or comes twice, shows.
func pattern(_ count: Int, seed: Int = 0) -> [UInt8] {
    let period = (0..<251).map { UInt8(truncatingIfNeeded: ($0 + seed) % 251 + seed) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + period.count)
    while bytes.count < count { bytes += period }
    return Array(bytes.prefix(count))
}

extension DiskStore {
    /// Stores a body in pieces of 1000 bytes.
    func put(
        _ key: String,
        _ body: [UInt8],
        url: String = "https://example.org/",
        facts: [UInt8] = [],
        replacing: [Int64] = [],
        variantsMax: Int = 8,
        at nowUs: Int64 = 0
    ) throws -> Int64 {
        let draft = try begin()
        for start in stride(from: 0, to: body.count, by: 1000) {
            try append(body.span.extracting(start..<min(body.count, start + 1000)), to: draft)
        }
        return try commit(
            draft,
            key: key,
            url: url,
            facts: facts,
            replacing: replacing,
            variantsMax: variantsMax,
            nowUs: nowUs
        )
    }

    func add(_ bytes: [UInt8], to draft: DiskDraft) throws(DiskProblem) {
        try append(bytes.span, to: draft)
    }

    /// The body of an entry; nil where it is gone.
    func body(_ id: Int64) throws -> [UInt8]? {
        guard let body = try open(id) else { return nil }
        return try body.all()
    }

    func ids(_ key: String) -> [Int64] { entries(for: key).map(\.id) }
    var all: [DiskEntry] { list(after: nil, limit: 1_000_000) }
}

extension DiskBody {
    func all() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: Int(length))
        var room = bytes.mutableSpan
        let count = try #require(try read(at: 0, into: &room, onlyIfCached: false))
        return Array(bytes.prefix(count))
    }
}
