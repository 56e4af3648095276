// What a capture keeps of an exchange: rows of its file, as plain values.

package import LupinCore

/// An exchange that was captured.
package struct CapturedExchange: Sendable, Equatable {
    /// The key of the rows that belong to it; in the order in which exchanges were begun.
    package var number: Int64
    package var identity: ExchangeID
    /// µs since 1970.
    package var start: Int64
    package var host = ""
    package var method = ""
    package var status = 0
    /// µs.
    package var duration: Int64 = 0
    /// The line of the log; empty while the exchange is under way.
    package var line: [UInt8] = []
    /// The heads, packed.
    package var heads: [UInt8] = []
    /// Its bodies with their content: short ones of an exchange that is written once, at its end.
    ///
    /// Others are rows of their own. They are not read back with the rest.
    package var bodies: [CapturedBody] = []

    package init(number: Int64, id: ExchangeID, start: Int64) {
        self.number = number
        identity = id
        self.start = start
    }

    /// 32 hex digits.
    package var id: String { identity.text }
}

/// What is kept of a body, besides its content.
package struct CapturedBody: Sendable, Equatable {
    package var side: Int
    /// As transferred.
    package var bytes: Int64 = 0
    /// Of the content that is kept.
    package var kept: Int64 = 0
    /// Why it is not whole; empty if it is.
    package var truncated = ""
    /// The media type.
    package var type = ""
    /// The content codings that were undone.
    package var coding = ""
    /// Why nothing is kept; empty if something is.
    package var withheld = ""
    /// The kept content, where it is short and did not come in pieces; not read back with the rest.
    package var content: [UInt8] = []

    package init(side: Int) { self.side = side }
}

/// A message of a WebSocket.
package struct CapturedMessage: Sendable, Equatable {
    /// From 1.
    package var number: Int64
    /// µs since 1970.
    package var time: Int64
    package var isFromClient: Bool
    package var kind: String
    package var bytes: Int64
    package var isTruncated: Bool
    package var content: [UInt8]

    package init(
        number: Int64,
        time: Int64,
        isFromClient: Bool,
        kind: String,
        bytes: Int64,
        isTruncated: Bool,
        content: [UInt8]
    ) {
        self.number = number
        self.time = time
        self.isFromClient = isFromClient
        self.kind = kind
        self.bytes = bytes
        self.isTruncated = isTruncated
        self.content = content
    }
}

/// What a person noted about an exchange.
package struct CapturedNote: Sendable, Equatable {
    package var isMarked: Bool
    package var comment: String

    package init(isMarked: Bool, comment: String) {
        self.isMarked = isMarked
        self.comment = comment
    }
}

/// Changes that are made together, or not at all.
package struct CaptureBatch: Sendable {
    /// A part of a body.
    package struct Piece: Sendable {
        package var exchange: Int64
        package var side: Int
        package var number: Int
        package var content: [UInt8]

        package init(exchange: Int64, side: Int, number: Int, content: [UInt8]) {
            self.exchange = exchange
            self.side = side
            self.number = number
            self.content = content
        }
    }

    /// Exchanges that began, or ended: those with a line.
    package var exchanges: [CapturedExchange] = []
    package var bodies: [(exchange: Int64, body: CapturedBody)] = []
    /// Bodies that begin anew: their pieces so far are dropped first.
    package var restarts: [(exchange: Int64, side: Int)] = []
    package var pieces: [Piece] = []
    package var messages: [(exchange: Int64, message: CapturedMessage)] = []
    /// Exchanges that are dropped with all that belongs to them.
    package var forgotten: [Int64] = []

    package init() {}

    package var isEmpty: Bool {
        exchanges.isEmpty && bodies.isEmpty && restarts.isEmpty && pieces.isEmpty
            && messages.isEmpty && forgotten.isEmpty
    }
}

/// Which stored exchanges to read.
///
/// SQLite compares what has a column; the reader judges the rest by the lines.
package struct CaptureQuery: Sendable {
    /// Only those with a smaller number.
    package var before: Int64?
    /// Only those that began earlier, in µs since 1970.
    package var startsBefore: Int64?
    /// Only those that began then or later.
    package var startsFrom: Int64?
    package var host: String?
    package var method: String?
    package var statuses: ClosedRange<Int>?

    package init() {}
}
