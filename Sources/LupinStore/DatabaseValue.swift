// The values that SQLite's columns hold: whole numbers, texts and bytes, never NULL.

import CSQLite

/// A value of a column.
package protocol DatabaseValue: Sendable {
    /// Binds the value as an argument; returns SQLite's result code.
    func bind(to statement: Statement, at index: Int32) -> Int32
    /// Reads a column; nil if it holds another type.
    static func value(_ statement: Statement, column: Int32) -> Self?
}

extension Int64: DatabaseValue {
    package func bind(to statement: Statement, at index: Int32) -> Int32 {
        statement.bind(self, at: index)
    }

    package static func value(_ statement: Statement, column: Int32) -> Int64? {
        statement.type(column) == SQLITE_INTEGER ? statement.number(column) : nil
    }
}

extension Int: DatabaseValue {
    package func bind(to statement: Statement, at index: Int32) -> Int32 {
        statement.bind(Int64(self), at: index)
    }

    package static func value(_ statement: Statement, column: Int32) -> Int? {
        Int64.value(statement, column: column).flatMap { Int(exactly: $0) }
    }
}

extension Bool: DatabaseValue {
    package func bind(to statement: Statement, at index: Int32) -> Int32 {
        statement.bind(self ? 1 : 0, at: index)
    }

    package static func value(_ statement: Statement, column: Int32) -> Bool? {
        Int64.value(statement, column: column).map { $0 != 0 }
    }
}

extension String: DatabaseValue {
    package func bind(to statement: Statement, at index: Int32) -> Int32 {
        statement.bind(self, at: index)
    }

    package static func value(_ statement: Statement, column: Int32) -> String? {
        statement.type(column) == SQLITE_TEXT ? statement.text(column) : nil
    }
}

extension [UInt8]: DatabaseValue {
    package func bind(to statement: Statement, at index: Int32) -> Int32 {
        statement.bind(self, at: index)
    }

    package static func value(_ statement: Statement, column: Int32) -> [UInt8]? {
        statement.type(column) == SQLITE_BLOB ? statement.bytes(column) : nil
    }
}
