// Captured exchanges come back as they were written, also after a kill, and go when they should.

import Foundation
import Glibc
import LupinCore
import LupinStore
import Testing

/// The folder of one capture, gone with the fixture.
private final class CaptureFolder: Sendable {
    let store = StoreFolder()
    var path: String { store.path }
    var file: String { "\(path)/exchanges.sqlite" }

    func open() throws(DiskProblem) -> CaptureFile { try CaptureFile(folder: path) }

    /// What a kill would leave now.
    func copy() throws -> CaptureFolder {
        let copy = CaptureFolder()
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }

    /// Every byte of every file.
    func bytes() throws -> Data {
        var all = Data()
        for name in store.names(in: "") { all += Data(try store.bytes(of: "\(path)/\(name)")) }
        return all
    }

    func holds(_ text: String) throws -> Bool { try bytes().range(of: Data(text.utf8)) != nil }
}

private func exchange(
    _ number: Int64,
    start: Int64 = 0,
    line: String = "{}",
    host: String = "a.example",
    method: String = "GET",
    status: Int = 200
) -> CapturedExchange {
    let id = ExchangeID(high: 0, low: UInt64(number))
    var exchange = CapturedExchange(number: number, id: id, start: start)
    (exchange.host, exchange.method, exchange.status) = (host, method, status)
    exchange.duration = 5
    exchange.line = Array(line.utf8)
    exchange.heads = [1, 2, 3]
    return exchange
}

private func piece(
    _ exchange: Int64,
    side: Int = 3,
    _ number: Int = 1,
    _ content: [UInt8]
) -> CaptureBatch.Piece {
    CaptureBatch.Piece(exchange: exchange, side: side, number: number, content: content)
}

private func message(_ number: Int64, _ text: String = "hi") -> CapturedMessage {
    CapturedMessage(
        number: number,
        time: 7,
        isFromClient: number % 2 == 0,
        kind: "text",
        bytes: 100,
        isTruncated: true,
        content: Array(text.utf8)
    )
}

extension CaptureFile {
    /// Writes an exchange with a body of these bytes.
    fileprivate func put(_ exchange: CapturedExchange, _ body: [UInt8] = []) throws {
        var batch = CaptureBatch()
        batch.exchanges = [exchange]
        var row = CapturedBody(side: 3)
        row.kept = Int64(body.count)
        batch.bodies = [(exchange.number, row)]
        if !body.isEmpty { batch.pieces = [piece(exchange.number, 1, body)] }
        try write(batch)
    }

    fileprivate func numbers(_ query: CaptureQuery = CaptureQuery()) throws -> [Int64] {
        var numbers: [Int64] = []
        try forEachLatest(query) {
            numbers.append($0.number)
            return true
        }
        return numbers
    }
}

struct CaptureFileTests {
    private let folder = CaptureFolder()

    @Test func `what was written comes back, now and after a restart`() throws {
        var body = CapturedBody(side: 3)
        (body.bytes, body.kept, body.truncated) = (1000, 200_000, "limit")
        (body.type, body.coding, body.withheld) = ("text/plain", "gzip", "because")
        var batch = CaptureBatch()
        #expect(batch.isEmpty)
        batch.exchanges = [exchange(1, start: 17), exchange(2, line: "")]
        batch.bodies = [(1, body), (1, CapturedBody(side: 0))]
        batch.pieces = [
            piece(1, 2, pattern(100_000, seed: 1)), piece(1, 1, pattern(100_000)),
            piece(1, side: 0, 1, []),
        ]
        batch.messages = [(1, message(2)), (1, message(1)), (1, message(3))]
        #expect(!batch.isEmpty)
        func check(_ file: CaptureFile, under: Int) throws {
            let found = try file.exchanges(withPrefix: "0000", limit: 9)
            #expect(found == Array([exchange(1, start: 17), exchange(2, line: "")].prefix(under)))
            #expect(try file.numbers() == [1])
            #expect(try file.bodies(of: 1) == [CapturedBody(side: 0), body])
            let content = try file.content(of: 1, side: 3)
            #expect(content == pattern(100_000) + pattern(100_000, seed: 1))
            #expect(try file.content(of: 1, side: 0) == [])
            #expect(try file.content(of: 1, side: 1) == nil)
            #expect(try file.messageCount(of: 1) == 3)
            #expect(try file.messages(of: 1, after: 0, limit: 9) == [1, 2, 3].map { message($0) })
            #expect(try file.messages(of: 1, after: 1, limit: 1) == [message(2)])
            #expect(try file.lastNumber() >= 2)
            #expect(try file.size().exchanges == under)
        }
        #expect(!CaptureFile.exists(in: folder.path))
        let file = try folder.open()
        #expect(CaptureFile.exists(in: folder.path))
        try file.write(batch)
        try check(file, under: 2)
        // A kill -9 leaves the files as they are; what had no end is gone then.
        let copy = try folder.copy()
        try check(try copy.open(), under: 1)
        file.close()
    }

    @Test func `short bodies lie in the row of their exchange, and go with it`() throws {
        var first = CapturedBody(side: 0)
        (first.bytes, first.kept, first.content) = (3, 5, Array("plain".utf8))
        (first.type, first.coding) = ("text/plain; charset=\u{1F41B}", "gzip")
        var second = CapturedBody(side: 3)
        (second.bytes, second.withheld) = (Int64.max, String(repeating: "w", count: 300))
        second.truncated = "limit"
        var row = exchange(1, start: 1)
        row.bodies = [first, second]
        var batch = CaptureBatch()
        batch.exchanges = [row]
        var third = CapturedBody(side: 2)
        third.content = pattern(70_000)
        batch.bodies = [(1, third)]
        let file = try folder.open()
        try file.write(batch)
        third.content = []
        var kept = first
        kept.content = []
        #expect(try file.bodies(of: 1) == [kept, third, second])
        #expect(try file.content(of: 1, side: 0) == Array("plain".utf8))
        #expect(try file.content(of: 1, side: 1) == nil)
        #expect(try file.content(of: 1, side: 2) == pattern(70_000))
        #expect(try file.content(of: 1, side: 3) == nil)
        try file.delete([1])
        #expect(try file.bodies(of: 1) == [] && file.content(of: 1, side: 0) == nil)
        #expect(try !folder.holds("plain"))
    }

    @Test func `a body of many small pieces is read in a moment`() throws {
        let file = try folder.open()
        var batch = CaptureBatch()
        batch.exchanges = [exchange(1)]
        batch.pieces = (1...100_000).map { piece(1, $0, [UInt8](repeating: 0x61, count: 10)) }
        try file.write(batch)
        let clock = ContinuousClock()
        let begun = clock.now
        #expect(try file.content(of: 1, side: 3)?.count == 1_000_000)
        #expect(clock.now - begun < .seconds(5))
    }

    @Test func `an exchange under way is updated, and a body that begins anew is replaced`() throws
    {
        let file = try folder.open()
        try file.put(exchange(1, line: ""), Array("first".utf8))
        #expect(try file.numbers() == [])
        var batch = CaptureBatch()
        batch.restarts = [(1, 3)]
        batch.pieces = [piece(1, 1, Array("second".utf8))]
        batch.exchanges = [exchange(1, line: "{\"a\":1}", status: 404)]
        try file.write(batch)
        #expect(try file.content(of: 1, side: 3) == Array("second".utf8))
        var found = exchange(1, line: "{\"a\":1}", status: 404)
        found.start = 0
        #expect(try file.exchanges(withPrefix: exchange(1).id, limit: 1) == [found])
        #expect(try file.numbers() == [1])
        batch = CaptureBatch()
        batch.forgotten = [1]
        try file.write(batch)
        #expect(try file.size().exchanges == 0 && file.content(of: 1, side: 3) == nil)
    }

    @Test func `a query keeps what fits`() throws {
        let file = try folder.open()
        for number in 1...6 as ClosedRange<Int64> {
            try file.put(
                exchange(
                    number,
                    start: number * 10,
                    host: number < 4 ? "a.example" : "b.example",
                    method: number % 2 == 0 ? "GET" : "POST",
                    status: Int(number) * 100
                )
            )
        }
        func numbers(_ change: (inout CaptureQuery) -> Void) throws -> [Int64] {
            var query = CaptureQuery()
            change(&query)
            return try file.numbers(query)
        }
        #expect(try numbers { _ in } == [6, 5, 4, 3, 2, 1])
        #expect(try numbers { $0.before = 3 } == [2, 1])
        #expect(try numbers { $0.startsBefore = 20 } == [1])
        #expect(try numbers { $0.startsFrom = 50 } == [6, 5])
        #expect(try numbers { $0.host = "a.example" } == [3, 2, 1])
        #expect(try numbers { ($0.host, $0.method) = ("a.example", "POST") } == [3, 1])
        #expect(try numbers { $0.statuses = 200...399 } == [3, 2])
        #expect(try numbers { $0.host = "' OR 1=1 --" } == [])
        var first: Int64?
        try file.forEachLatest(CaptureQuery()) {
            first = $0.number
            return false
        }
        #expect(first == 6)
    }

    @Test(arguments: [
        String(repeating: "\u{E9}", count: 9), String(repeating: "\u{E9}", count: 100), "x", "0A",
        "-1", " 0", "\u{1F41B}",
    ])
    func `a text that is no beginning of an ID finds nothing`(text: String) throws {
        let file = try folder.open()
        try file.put(exchange(1))
        #expect(try file.exchanges(withPrefix: text, limit: 9) == [])
        #expect(try file.exchanges(withPrefix: "", limit: 9).count == 1)
        #expect(try file.exchanges(withPrefix: exchange(1).id, limit: 9).count == 1)
        #expect(try file.exchanges(withPrefix: exchange(1).id + "0", limit: 9) == [])
    }

    @Test func `many are passed in their order, and may be read while they are`() throws {
        let file = try folder.open()
        var batch = CaptureBatch()
        batch.exchanges = (1...200).map { exchange($0) }
        batch.pieces = (1...200).map { piece($0, 1, [UInt8($0)]) }
        try file.write(batch)
        var found: [Int64] = []
        var contents: [[UInt8]?] = []
        try file.forEachLatest(CaptureQuery()) { exchange in
            found.append(exchange.number)
            contents.append((try? file.content(of: exchange.number, side: 3)) ?? nil)
            return exchange.number > 2
        }
        #expect(found == (2...200).reversed().map { $0 })
        #expect(contents == (2...200).reversed().map { [UInt8($0)] })
    }

    @Test func `a note stays until it is emptied or its exchange goes`() throws {
        let file = try folder.open()
        let id = exchange(1).id
        #expect(try file.note(about: id) == nil)
        let note = CapturedNote(isMarked: true, comment: "it's \u{1F41B}")
        try file.note(note, about: id)
        #expect(try file.note(about: id) == note)
        try file.note(CapturedNote(isMarked: false, comment: ""), about: id)
        #expect(try file.note(about: id) == nil)
        try file.put(exchange(1, start: 1))
        try file.note(note, about: id)
        try file.drop(startedBefore: 2, bytesMax: .max)
        #expect(try file.note(about: id) == nil)
    }

    // MARK: What goes

    @Test func `what is too old goes with all that belongs to it`() throws {
        let file = try folder.open()
        for number in 1...4 as ClosedRange<Int64> {
            try file.put(exchange(number, start: number), pattern(10))
        }
        var batch = CaptureBatch()
        batch.exchanges = [exchange(5, start: 0, line: "")]
        batch.messages = [(1, message(1)), (4, message(1))]
        try file.write(batch)
        try file.drop(startedBefore: 4, bytesMax: .max)
        // One that is under way stays, however old it is.
        #expect(try file.numbers() == [4])
        #expect(try file.size().exchanges == 2)
        for number in 1...3 as ClosedRange<Int64> {
            #expect(try file.content(of: number, side: 3) == nil)
            #expect(try file.bodies(of: number) == [])
            #expect(try file.messageCount(of: number) == 0)
        }
        #expect(try file.content(of: 4, side: 3) == pattern(10))
        #expect(try file.messageCount(of: 4) == 1)
    }

    @Test func `the oldest go when there is too much`() throws {
        let file = try folder.open()
        for number in 1...50 as ClosedRange<Int64> {
            try file.put(exchange(number), pattern(100_000))
            try file.drop(startedBefore: 0, bytesMax: 1 << 20)
        }
        let numbers = try file.numbers()
        #expect(numbers.first == 50 && (8...10).contains(numbers.count))
        #expect(numbers == (numbers[numbers.count - 1]...50).reversed().map { $0 })
        #expect(try file.size().bytes < 3 << 19)
        file.close()
        // What is deleted gives its room to what comes.
        #expect(try folder.store.bytes(of: folder.file).count < 3 << 20)
    }

    @Test func `numbers are never given twice`() throws {
        let file = try folder.open()
        try file.put(exchange(41, start: 1))
        try file.drop(startedBefore: 2, bytesMax: .max)
        let last = try file.lastNumber()
        #expect(last >= 41)
        try file.put(exchange(last + 1, start: 3))
        let next = try file.lastNumber()
        #expect(next > last)
        try file.clear()
        #expect(try file.lastNumber() == next)
        file.close()
        #expect(try folder.open().lastNumber() == next)
    }

    @Test func `what was cleared is nowhere in the files, and takes no room`() throws {
        let file = try folder.open()
        let words = "a private sentence, word for word"
        for number in 1...100 as ClosedRange<Int64> {
            try file.put(exchange(number, line: "{\"a\":\"\(words)\"}"), pattern(50_000))
            var batch = CaptureBatch()
            batch.messages = [(number, message(1, words))]
            batch.pieces = [piece(number, 2, Array(String(repeating: words, count: 900).utf8))]
            try file.write(batch)
            try file.note(CapturedNote(isMarked: false, comment: words), about: exchange(1).id)
        }
        #expect(try folder.holds(words))
        let before = try file.size().bytes
        try file.clear()
        #expect(try !folder.holds(words))
        #expect(try file.size().bytes < before / 20)
        #expect(try file.size().exchanges == 0 && file.note(about: exchange(1).id) == nil)
        try file.put(exchange(101), pattern(10))
        #expect(try file.numbers() == [101])
    }

    @Test func `exchanges that are deleted are nowhere in the files, and others stay`() throws {
        let file = try folder.open()
        for number in 1...40 as ClosedRange<Int64> {
            let words = number % 2 == 0 ? "gone from every page" : "kept as it was"
            try file.put(exchange(number, line: "{\"a\":\"\(words)\"}"), pattern(50_000))
            var batch = CaptureBatch()
            batch.messages = [(number, message(1, words))]
            batch.pieces = [piece(number, 2, Array(String(repeating: words, count: 900).utf8))]
            try file.write(batch)
            try file.note(CapturedNote(isMarked: true, comment: words), about: exchange(number).id)
        }
        #expect(try folder.holds("gone from every page"))
        let gone = (1...20 as ClosedRange<Int64>).map { $0 * 2 }
        try file.delete(gone + [99])
        #expect(try !folder.holds("gone from every page"))
        #expect(try file.numbers() == (1...20).map { 41 - 2 * $0 })
        #expect(try file.content(of: 3, side: 3)?.count == 50_000 + 14 * 900)
        #expect(try file.messages(of: 3, after: 0, limit: 9).count == 1)
        #expect(try file.note(about: exchange(3).id)?.comment == "kept as it was")
        #expect(try file.note(about: exchange(2).id) == nil)
    }

    // MARK: Files

    @Test func `files are for us alone`() throws {
        let inner = "\(folder.path)/a/b"
        let file = try CaptureFile(folder: inner)
        try file.put(exchange(1))
        #expect(try folder.store.mode(of: inner) == 0o700)
        let names = folder.store.names(in: "a/b")
        #expect(names.contains("exchanges.sqlite") && names.contains("exchanges.sqlite-wal"))
        for name in names { #expect(try folder.store.mode(of: "\(inner)/\(name)") == 0o600) }
    }

    @Test func `a folder and a file that others may read are closed to them`() throws {
        let file = try folder.open()
        file.close()
        try folder.store.setMode(of: folder.path, to: 0o755)
        try folder.store.setMode(of: folder.file, to: 0o644)
        let names = folder.store.names(in: "").filter { $0.hasPrefix("exchanges") }
        for name in names { try folder.store.setMode(of: "\(folder.path)/\(name)", to: 0o644) }
        let again = try folder.open()
        try again.put(exchange(1))
        #expect(try folder.store.mode(of: folder.path) == 0o700)
        for name in folder.store.names(in: "") where name != "lock" {
            #expect(try folder.store.mode(of: "\(folder.path)/\(name)") == 0o600, "\(name)")
        }
    }

    @Test func `another who opens the folder is told who has it`() throws {
        let file = try folder.open()
        #expect(throws: DiskProblem.inUse(path: folder.path, pid: getpid())) {
            try folder.open()
        }
        withExtendedLifetime(file) {}
    }

    @Test(arguments: ["exchanges.sqlite", "lock"])
    func `a file that is a link is refused, and what it leads to is left alone`(
        name: String
    ) throws {
        do { try folder.open().close() }
        let target = CaptureFolder()
        try FileManager.default.createDirectory(
            atPath: target.path,
            withIntermediateDirectories: false
        )
        try folder.store.write(Array("precious".utf8), to: "\(target.path)/theirs")
        try folder.store.remove("\(folder.path)/\(name)")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/\(name)",
            withDestinationPath: "\(target.path)/theirs"
        )
        #expect(throws: DiskProblem.self) { try folder.open() }
        #expect(try folder.store.bytes(of: "\(target.path)/theirs") == Array("precious".utf8))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a folder of somebody else"))
    func `a folder of another user, or a link of theirs, is refused`() throws {
        do { try folder.open().close() }
        let link = CaptureFolder()
        try FileManager.default.createSymbolicLink(
            atPath: link.path,
            withDestinationPath: folder.path
        )
        do { try link.open().close() }
        try folder.store.giveAway(link.path)
        #expect(throws: DiskProblem.foreignFolder(path: link.path)) { try link.open() }
        try folder.store.giveAway(folder.path)
        #expect(throws: DiskProblem.foreignFolder(path: folder.path)) { try folder.open() }
    }

    @Test(arguments: [
        "PRAGMA user_version = 1", "PRAGMA user_version = 0",
        "DROP TABLE exchange; PRAGMA user_version = 0",
    ])
    func `a file of another format gives way to an empty one`(sql: String) throws {
        do {
            let file = try folder.open()
            try file.put(exchange(1))
            file.close()
        }
        try Database(path: folder.file).execute(sql)
        let file = try folder.open()
        #expect(try file.numbers() == [])
        try file.put(exchange(1))
        #expect(try file.numbers() == [1])
    }

    @Test(arguments: [0, 1, 16, 100, 4096, 5000])
    func `a damaged file gives way to an empty one`(kept: Int) throws {
        do {
            let file = try folder.open()
            for number in 1...20 as ClosedRange<Int64> {
                try file.put(exchange(number), pattern(9000))
            }
            file.close()
        }
        var bytes = try folder.store.bytes(of: folder.file)
        bytes.replaceSubrange(kept..., with: [UInt8](repeating: 0xA5, count: bytes.count - kept))
        try folder.store.write(bytes, to: folder.file)
        let file = try folder.open()
        _ = try? file.numbers()
        try file.put(exchange(99))
        #expect(try file.numbers().first == 99)
    }

    @Test func `a file cut off anywhere is opened`() throws {
        do {
            let file = try folder.open()
            for number in 1...20 as ClosedRange<Int64> {
                try file.put(exchange(number), pattern(9000))
            }
            file.close()
        }
        let bytes = try folder.store.bytes(of: folder.file)
        for count in [0, 1, 99, 512, 4095, 4096, 4097, 20_000, bytes.count - 4096] {
            try folder.store.write(Array(bytes.prefix(count)), to: folder.file)
            let file = try folder.open()
            _ = try? file.numbers()
            file.close()
        }
    }
}
