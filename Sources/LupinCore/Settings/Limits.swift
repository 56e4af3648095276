// What the file says of limits.

/// The keys of `limits` and their defaults; nil is `none`.
package struct Limits: Sendable, Equatable {
    package var connections = 4096
    package var clientConnections: Int?
    package var requestLineBytes = 32 << 10
    package var headerBytes = 64 << 10
    package var headerFields = 256
    /// Field lines that a response may have in any case, unless `upstream.strict` is set: as many
    /// as other programs read, at least.
    package static let responseFields = 1000
    package var trailerBytes = 8 << 10
    package var bodyBytes: Int?
    package var streamBufferBytes = 256 << 10
    package var replayMemoryBytes = 64 << 20
    package var replayDiskBytes = 1 << 30
    package var http2 = HTTP2Limits()

    package init() {}
}
