// How much of a head or of trailers HTTP/1.1 may send before it is refused.
package import LupinCore

/// Byte and line limits of one connection's parsers.
package struct HTTP1Limits: Sendable, Equatable {
    /// Bytes of the request line or status line, its CRLF included; beyond it 414 or 502.
    package var requestLineBytes: Int
    /// Bytes of all field lines with their CRLFs and the empty line; beyond it 431 or 502.
    package var headerBytes: Int
    /// Field lines of a header section or a trailer section; beyond it 431 or 502.
    package var headerFields: Int
    /// Bytes of a trailer section with its empty line; beyond it 431 or 502.
    package var trailerBytes: Int

    /// The limits that the settings name.
    package init(_ limits: Limits = Limits()) {
        requestLineBytes = limits.requestLineBytes
        headerBytes = limits.headerBytes
        headerFields = limits.headerFields
        trailerBytes = limits.trailerBytes
    }
}
