// A connection to an SQLite file: statements prepared once, transactions, errors with their place.

import CSQLite

/// A failed call of SQLite.
struct DatabaseError: Error, CustomStringConvertible {
    /// Its primary result code, such as `SQLITE_FULL`.
    let code: Int32
    let message: String
    /// The statement or the file.
    let context: String

    var description: String { "\(message) (\(code)): \(context)" }
}

/// A connection, which one thread at a time uses.
@safe
package final class Database {
    private var connection: OpaquePointer?
    /// By their text.
    private var statements: [String: Statement] = [:]

    /// Opens a file that exists, or makes it, and runs `setup`.
    package init(
        path: String,
        setup: String = "",
        isReader: Bool = false,
        busyMilliseconds: Int32 = 0
    ) throws {
        let access = isReader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var connection: OpaquePointer?
        // Safety: the path is NUL-terminated for the call, which fills the pointer.
        let code = unsafe sqlite3_open_v2(
            path,
            &connection,
            access | SQLITE_OPEN_NOMUTEX,
            nil
        )
        unsafe self.connection = connection
        guard code == SQLITE_OK else { throw failure(code, path) }
        unsafe sqlite3_busy_timeout(connection, busyMilliseconds)
        try execute(setup)
    }

    deinit { close() }

    /// Ends all statements and closes the file; calls after this one fail.
    package func close() {
        statements = [:]
        // Safety: no statement is left, and the pointer is not used again.
        unsafe sqlite3_close_v2(connection)
        unsafe connection = nil
    }

    private func failure(_ code: Int32, _ context: String) -> DatabaseError {
        // Safety: SQLite's text is copied at once; it takes nil for a connection without memory.
        let message = unsafe String(cString: sqlite3_errmsg(connection))
        return DatabaseError(code: code & 0xFF, message: message, context: context)
    }

    // MARK: Statements

    /// Runs the statements of a text, which have no arguments.
    package func execute(_ script: String) throws {
        guard let connection = unsafe connection else { throw Self.closed(script) }
        // Safety: the text is NUL-terminated for the call.
        let code = unsafe sqlite3_exec(connection, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, script) }
    }

    /// Runs a statement that has no rows.
    package func run(_ sql: String, _ values: [any DatabaseValue] = []) throws {
        try forEach(sql, values) { _ in true }
    }

    /// Runs a statement that has no rows once for each element, whose arguments `bind` sets.
    ///
    /// The last arguments are what `lend` returns: SQLite reads these bytes where they are.
    func run<Element, let count: Int>(
        _ sql: String,
        forEach elements: [Element],
        lending lend: (Element) -> InlineArray<count, [UInt8]>,
        _ bind: (Element, inout Arguments) -> Void
    ) throws {
        if elements.isEmpty { return }
        let statement = try statement(sql)
        defer { statement.dropArguments() }
        for element in elements {
            var arguments = Arguments(of: statement)
            bind(element, &arguments)
            let code = arguments.step(lending: lend(element), from: 0)
            guard code == SQLITE_DONE else { throw failure(code, sql) }
            statement.reset()
        }
    }

    /// Passes the rows of a statement to `body` until it returns false.
    func forEach(
        _ sql: String,
        _ values: [any DatabaseValue] = [],
        _ body: (Row) throws -> Bool
    ) throws {
        try run(statement(sql), sql, values, body)
    }

    private func run(
        _ statement: Statement,
        _ sql: String,
        _ values: [any DatabaseValue],
        _ body: (Row) throws -> Bool
    ) throws {
        defer { statement.dropArguments() }
        var index: Int32 = 0
        for value in values {
            index += 1
            let code = value.bind(to: statement, at: index)
            guard code == SQLITE_OK else { throw failure(code, sql) }
        }
        while true {
            switch statement.step() {
            case SQLITE_ROW: guard try body(Row(statement: statement)) else { return }
            case SQLITE_DONE: return
            case let code: throw failure(code, sql)
            }
        }
    }

    /// What `make` makes of every row.
    func rows<Value>(
        _ sql: String,
        _ values: [any DatabaseValue] = [],
        _ make: (Row) throws -> Value
    ) throws -> [Value] {
        var result: [Value] = []
        try forEach(sql, values) { row in
            result.append(try make(row))
            return true
        }
        return result
    }

    /// What `make` makes of the first row; nil without one.
    func first<Value>(
        _ sql: String,
        _ values: [any DatabaseValue] = [],
        _ make: (Row) throws -> Value
    ) throws -> Value? {
        var result: Value?
        try forEach(sql, values) { row in
            result = try make(row)
            return false
        }
        return result
    }

    /// The number in the first row; nil without a row.
    package func number(_ sql: String, _ values: [any DatabaseValue] = []) throws -> Int64? {
        try first(sql, values) { try $0.decode(atIndex: 0) }
    }

    /// The statement of a text, ready to run.
    private func statement(_ sql: String) throws -> Statement {
        if let statement = statements[sql] { return statement }
        guard let connection = unsafe connection else { throw Self.closed(sql) }
        var handle: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        // Safety: the text is NUL-terminated for the call, which fills the pointer.
        let code = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &handle, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else { throw failure(code, sql) }
        let statement = unsafe Statement(owning: handle)
        statements[sql] = statement
        return statement
    }

    private static func closed(_ context: String) -> DatabaseError {
        DatabaseError(code: SQLITE_MISUSE, message: "the file is closed", context: context)
    }

    // MARK: Transactions

    /// Makes all changes of `body`, or none if it throws.
    package func change<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try transaction("BEGIN IMMEDIATE", body)
    }

    /// Runs `body` on one state of the file, whatever others change meanwhile.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try transaction("BEGIN", body)
    }

    private func transaction<Value>(
        _ begin: String,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        try run(begin)
        do {
            let value = try body(self)
            try run("COMMIT")
            return value
        } catch {
            // SQLite has rolled back already after some errors, and fails then.
            try? run("ROLLBACK")
            throw error
        }
    }
}

/// A prepared statement.
@safe
package final class Statement {
    // Safety: the handle is valid until the end of the object.
    private let handle: OpaquePointer
    /// The texts that are bound, by their place from 1 on: rows in a row often have the same.
    private var texts: [String] = []

    init(owning handle: OpaquePointer) { unsafe self.handle = handle }

    deinit { unsafe sqlite3_finalize(handle) }

    func step() -> Int32 { unsafe sqlite3_step(handle) }

    /// Ends a run; the arguments stay.
    func reset() { unsafe sqlite3_reset(handle) }

    /// Ends a run and drops its arguments.
    func dropArguments() {
        reset()
        unsafe sqlite3_clear_bindings(handle)
        texts.removeAll(keepingCapacity: true)
    }

    func bind(_ number: Int64, at index: Int32) -> Int32 {
        unsafe sqlite3_bind_int64(handle, index, number)
    }

    func bind(_ text: String, at index: Int32) -> Int32 {
        guard text.utf8.count <= Int32.max else { return SQLITE_TOOBIG }
        var text = text
        // Safety: SQLite copies the bytes during the call.
        return text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) {
                unsafe sqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
            }
        }
    }

    /// Binds a text, unless it is bound there already.
    fileprivate func bind(news text: String, at index: Int32) -> Int32 {
        while texts.count <= Int(index) { texts.append("") }
        // An empty one may not be bound yet.
        if !text.isEmpty, texts[Int(index)] == text { return SQLITE_OK }
        texts[Int(index)] = text
        return bind(text, at: index)
    }

    func bind(_ bytes: [UInt8], at index: Int32) -> Int32 {
        guard bytes.count <= Int32.max else { return SQLITE_TOOBIG }
        // Safety: SQLite copies the bytes during the call.
        return unsafe bytes.withUnsafeBytes {
            unsafe sqlite_bind_blob(handle, index, $0.baseAddress, Int32($0.count))
        }
    }

    /// Binds bytes that must stay where they are until the statement has run.
    @unsafe func bind(lent bytes: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        guard bytes.count <= Int32.max else { return SQLITE_TOOBIG }
        return unsafe sqlite_lend_blob(handle, index, bytes.baseAddress, Int32(bytes.count))
    }

    func type(_ column: Int32) -> Int32 { unsafe sqlite3_column_type(handle, column) }

    func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    func bytes(_ column: Int32) -> [UInt8] {
        // Safety: SQLite's bytes are valid until the next call on the statement; they are copied.
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func text(_ column: Int32) -> String {
        // Safety: as above.
        guard let start = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        let bytes = unsafe UnsafeBufferPointer(start: start, count: count)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}

/// The arguments of a statement, set one after the other.
struct Arguments {
    private let statement: Statement
    private var index: Int32 = 0
    /// SQLite's result code: of the first that could not be set.
    private(set) var code = SQLITE_OK

    fileprivate init(of statement: Statement) { self.statement = statement }

    mutating func add(_ number: Int64) { note(statement.bind(number, at: next())) }

    mutating func add(_ number: Int) { add(Int64(number)) }

    mutating func add(_ isTrue: Bool) { add(isTrue ? 1 : 0 as Int64) }

    mutating func add(_ text: String) { note(statement.bind(news: text, at: next())) }

    /// Runs the statement with the values of a list as its last arguments, which are not copied.
    fileprivate mutating func step<let count: Int>(
        lending values: InlineArray<count, [UInt8]>,
        from index: Int
    ) -> Int32 {
        guard code == SQLITE_OK else { return code }
        guard index < count else { return statement.step() }
        // Safety: the bytes stay where they are for the closure, in which the statement runs.
        return unsafe values[index].withUnsafeBytes { bytes in
            note(unsafe statement.bind(lent: bytes, at: next()))
            return step(lending: values, from: index + 1)
        }
    }

    private mutating func next() -> Int32 {
        index += 1
        return index
    }

    private mutating func note(_ code: Int32) {
        if self.code == SQLITE_OK { self.code = code }
    }
}

/// The current row of a statement.
struct Row {
    fileprivate let statement: Statement

    /// A column's value.
    /// - Throws: `DiskProblem.damaged` where the file holds another type of value.
    func decode<Value: DatabaseValue>(
        _ type: Value.Type = Value.self,
        atIndex index: Int32
    ) throws -> Value {
        guard let value = Value.value(statement, column: index) else {
            throw DiskProblem.damaged
        }
        return value
    }
}
