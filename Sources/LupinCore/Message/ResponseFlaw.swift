// What a response may do against its specification and still have one meaning only.

/// A flaw of an HTTP/1 response that curl, nginx and Squid read over, and so does lupin unless
/// `upstream.strict` is set.
///
/// A response with one is quarantined: it is never stored, and its connection is closed behind it.
package enum ResponseFlaw: UInt8, CaseIterable, Sendable {
    /// A line ends with LF alone (RFC 9112 §2.2 lets a recipient accept that).
    case lineFeed
    /// A control byte in a value or in the reason; it became SP (RFC 9110 §5.5).
    case control
    /// A name that is no token.
    case name
    /// More field lines than `limits.header_fields` allows.
    case fields
    /// The transfer coding that RFC 2616 had and RFC 9112 has not: it is none.
    case identity
    /// Content-Length beside chunked, which wins (RFC 9112 §6.3).
    case length
    /// A transfer coding in HTTP/1.0 (RFC 9112 §6.1).
    case chunkedInHTTP10
    /// More than one SP before the status (RFC 9112 §4).
    case spaces
    /// A Transfer-Encoding that names none: there is none.
    case coding
    /// Bytes behind the end of the response, which answer no request.
    case surplus

    /// The word for the record.
    package var word: String {
        switch self {
        case .lineFeed: "lf"
        case .control: "control"
        case .name: "name"
        case .fields: "fields"
        case .identity: "identity"
        case .length: "length"
        case .chunkedInHTTP10: "http10"
        case .spaces: "spaces"
        case .coding: "coding"
        case .surplus: "surplus"
        }
    }

    /// For `explain`, after "the response has".
    package var text: String {
        switch self {
        case .lineFeed: "lines that end with LF alone"
        case .control: "control bytes in a field"
        case .name: "a field name that is no token"
        case .fields: "more fields than limits.header_fields"
        case .identity: "the transfer coding identity"
        case .length: "a length beside chunked"
        case .chunkedInHTTP10: "a transfer coding in HTTP/1.0"
        case .spaces: "several spaces before the status"
        case .coding: "an empty Transfer-Encoding"
        case .surplus: "bytes behind its end"
        }
    }
}

/// The flaws of one response.
package struct ResponseFlaws: Sendable, Hashable {
    @usableFromInline var bits: UInt16 = 0

    @inlinable package init() {}

    package init(_ flaws: [ResponseFlaw]) { flaws.forEach { insert($0) } }

    @inlinable package var isEmpty: Bool { bits == 0 }

    package mutating func insert(_ flaw: ResponseFlaw) { bits |= 1 << flaw.rawValue }

    package mutating func formUnion(_ others: ResponseFlaws) { bits |= others.bits }

    package func contains(_ flaw: ResponseFlaw) -> Bool { bits & 1 << flaw.rawValue != 0 }

    /// In the order of the cases.
    package var all: [ResponseFlaw] { ResponseFlaw.allCases.filter(contains) }
}
