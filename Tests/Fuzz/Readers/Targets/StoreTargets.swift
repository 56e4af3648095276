// A store on disk whose index or files somebody spoilt: it answers or begins anew.
import Foundation
import LupinStore

enum StoreTargets {
    static let all = [rows, files]

    /// Lines `column=value` that change the rows of an index.
    static let rows = FuzzTarget(
        "index-rows",
        seeds: [
            "length=9223372036854775807", "bytes=-1\nuses=9223372036854775807", "id=5\nkey=a",
            "stored=-9223372036854775808\nused=x", "checksum=4294967296", "facts=\u{80}", "seq=9",
            "seq=9223372036854775807",
        ],
        words: columns.map { $0 + "=" } + ["\n"],
        roundsInTests: 3
    ) { input in
        try withStore { folder in
            let database = try Database(path: folder + "/index.sqlite")
            defer { database.close() }
            try database.change { db in
                for line in input.split(separator: 0x0A).prefix(8) {
                    guard let cut = line.firstIndex(of: 0x3D),
                        let column = columns.first(where: { $0.utf8.elementsEqual(line[..<cut]) })
                    else { continue }
                    let value = databaseValue(Array(line[(cut + 1)...]))
                    let sql =
                        column == "seq"
                        ? "UPDATE sqlite_sequence SET seq = ?"
                        : "UPDATE entry SET \(column) = ?"
                            + (column == "id" ? " WHERE id = (SELECT max(id) FROM entry)" : "")
                    // SQLite has reasons of its own to refuse a value.
                    try? db.run(sql, [value])
                }
            }
        }
    }

    /// Lines `offset:byte` that change the file of an index, or `body:offset:byte` one body's.
    static let files = FuzzTarget(
        "index-file",
        seeds: ["0:0", "18:2", "100:255\n4096:13", "body:3:7", "28:255", "8192:5\n8200:0"],
        words: ["body:", ":", "\n", "4096", "100"],
        roundsInTests: 3
    ) { input in
        try withStore { folder in
            for line in input.split(separator: 0x0A).prefix(8) {
                var words = line.split(separator: 0x3A)[...]
                let isBody = words.first?.elementsEqual("body".utf8) ?? false
                if isBody { words = words.dropFirst() }
                guard words.count == 2, let place = words.first.flatMap({ Int(text($0)) }),
                    let byte = words.last.flatMap({ Int(text($0)) })
                else { continue }
                let path = folder + (isBody ? "/bodies/01/1" : "/index.sqlite")
                guard var content = FileManager.default.contents(atPath: path),
                    !content.isEmpty, place >= 0
                else { continue }
                content[content.startIndex + place % content.count] =
                    UInt8(truncatingIfNeeded: byte)
                try content.write(to: URL(filePath: path))
            }
        }
    }

    private static let columns = [
        "length", "bytes", "uses", "id", "key", "url", "facts", "stored", "used", "checksum",
        "key_hash", "url_hash", "seq",
    ]

    private static func databaseValue(_ bytes: [UInt8]) -> any DatabaseValue {
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        if let number = Int64(text) { return number }
        return text
    }

    /// Fills a store, spoils it, and asks it everything.
    private static func withStore(_ spoil: (String) throws -> Void) throws -> String {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "lupin-fuzz-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let limits = DiskLimits(bytesMax: 1 << 20, objectBytesMax: 1 << 16, spareBytes: 0)
        let store = try DiskStore(folder: folder, limits: limits)
        for i in 0..<3 { _ = try add("k\(i)", to: store) }
        store.close()
        try spoil(folder)
        let again: DiskStore
        do {
            again = try DiskStore(folder: folder, limits: limits)
        } catch {
            return "not opened: \(error)"
        }
        defer { again.close() }
        return try ask(again)
    }

    private static func add(_ key: String, to store: DiskStore) throws -> Int64 {
        let draft = try store.begin()
        try store.append(Array("body of \(key)".utf8).span, to: draft)
        return try store.commit(
            draft,
            key: key,
            url: "u",
            facts: Array("facts".utf8),
            replacing: [],
            variantsMax: 8,
            nowUs: 5
        )
    }

    private static func ask(_ store: DiskStore) throws -> String {
        var entries = store.list(after: nil, limit: 100)
        for i in 0..<3 { entries += store.entries(for: "k\(i)") }
        var words: Set<String> = []
        for entry in entries {
            try hold(entry.length <= 1 << 44, "a length is one that bodies have")
            guard let body = try? store.open(entry.id) else {
                words.insert("gone")
                continue
            }
            words.insert("\(store.check(body, bytesMax: 1 << 20))")
            store.touch(entry.id, nowUs: .max)
            _ = store.update(entry.id, facts: Array("other".utf8), nowUs: .max)
        }
        _ = store.keys(url: "u")
        _ = (store.mayHold("k1"), store.stats(), store.takeNotices(nowUs: 5))
        do {
            let id = try add("k1", to: store)
            _ = store.entry(id)
        } catch {
            words.insert("\(error)")
        }
        return "entries \(size(entries.count)) " + words.sorted().joined(separator: " ")
    }
}
