// Limits on HTTP/1.1 heads and trailers; larger ones are refused.
package import LupinCore

/// The byte and line limits of one connection's parsers.
package struct HTTP1Limits: Sendable, Equatable {
    /// Bytes of the request line or status line, including CRLF; more is a 414 or 502.
    package var requestLineBytes: Int
    /// Bytes of all field lines with CRLFs and the empty line; more is a 431 or 502.
    package var headerBytes: Int
    /// Field lines of a header section or a trailer section; more is a 431 or 502.
    package var headerFields: Int
    /// Bytes of a trailer section with its empty line; more is a 431 or 502.
    package var trailerBytes: Int

    /// Whether a response is refused for any `ResponseFlaw`.
    package var isStrict: Bool

    /// Field lines of a response; more is a 502.
    var responseFields: Int { isStrict ? headerFields : max(headerFields, Limits.responseFields) }

    /// Takes the limits of the settings.
    package init(_ limits: Limits = Limits(), isStrict: Bool = false) {
        requestLineBytes = limits.requestLineBytes
        headerBytes = limits.headerBytes
        headerFields = limits.headerFields
        trailerBytes = limits.trailerBytes
        self.isStrict = isStrict
    }
}
