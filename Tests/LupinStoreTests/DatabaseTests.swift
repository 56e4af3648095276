// One connection to SQLite: all or nothing, errors with their place, values as they were.

import Foundation
import LupinStore
import Testing

struct DatabaseTests {
    private let path = "\(NSTemporaryDirectory())/lupin-database-\(UUID().uuidString)"

    private func withDatabase(_ body: (Database) throws -> Void) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let database = try Database(path: path, setup: "CREATE TABLE a (b, c)")
        defer { database.close() }
        try body(database)
    }

    private struct Interruption: Error {}

    @Test func `a change that throws leaves nothing behind`() throws {
        try withDatabase { database in
            try database.change { try $0.run("INSERT INTO a VALUES (?, ?)", [1, "one"]) }
            #expect(throws: Interruption.self) {
                try database.change { db in
                    try db.run("INSERT INTO a VALUES (?, ?)", [2, "two"])
                    throw Interruption()
                }
            }
            #expect(try database.number("SELECT count(*) FROM a") == 1)
            // The connection is free for the next change.
            try database.change { try $0.run("DELETE FROM a") }
        }
    }

    @Test func `values come back as they were`() throws {
        try withDatabase { database in
            let values: [(any DatabaseValue, String)] = [
                (Int64.min, "typeof(b) = 'integer' AND b = -9223372036854775808"),
                (true, "b = 1"), ("", "typeof(b) = 'text' AND length(b) = 0"),
                ("a\0b", "hex(b) = '610062'"), ([UInt8](), "typeof(b) = 'blob' AND length(b) = 0"),
                ([0, 255] as [UInt8], "typeof(b) = 'blob' AND hex(b) = '00FF'"),
            ]
            for (value, condition) in values {
                try database.run("DELETE FROM a")
                try database.run("INSERT INTO a (b) VALUES (?)", [value])
                #expect(try database.number("SELECT count(*) FROM a WHERE \(condition)") == 1)
            }
        }
    }

    @Test func `an error names its code and its statement`() throws {
        try withDatabase { database in
            do {
                try database.run("INSERT INTO absent VALUES (1)")
                Issue.record("there is no such table")
            } catch {
                #expect("\(error)" == "no such table: absent (1): INSERT INTO absent VALUES (1)")
            }
        }
    }

    @Test func `a closed file fails, and closing twice harms nothing`() throws {
        try withDatabase { database in
            try database.run("INSERT INTO a VALUES (1, 2)")
            database.close()
            database.close()
            #expect(throws: (any Error).self) { try database.run("INSERT INTO a VALUES (1, 2)") }
        }
    }

    @Test func `a file that can't be opened is an error`() {
        #expect(throws: (any Error).self) { try Database(path: "\(path)/absent/file") }
    }
}
