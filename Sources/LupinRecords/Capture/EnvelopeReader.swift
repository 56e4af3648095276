// Splits a body into the messages that it carries in envelopes, as those of gRPC and Connect do.

package import LupinCore

/// How a body carries messages: each in an envelope of a byte of flags, four of the length, and the
/// message (gRPC over HTTP/2, "Length-Prefixed-Message"; gRPC-Web; Connect, "Enveloped-Message").
package struct EnvelopeFormat: Sendable, Equatable {
    /// What the messages are; the raw value is the word of the admin interface.
    package enum Content: String, Sendable {
        case protobuf, text, binary
    }

    package let content: Content
    /// The coding of those messages whose flag says that they are compressed; nil for none.
    package let coding: String?
    /// The flag of the envelope behind the last message.
    package let endFlag: UInt8

    fileprivate init(_ content: Content, coding: String?, endFlag: UInt8) {
        self.content = content
        self.coding = coding
        self.endFlag = endFlag
    }
}

extension FieldSection {
    /// The envelopes of the body; nil where the media type has none.
    ///
    /// A message in one may be compressed (gRPC, "Message-Encoding"; Connect,
    /// "Connect-Content-Encoding"), whatever Content-Encoding says.
    package var envelopeFormat: EnvelopeFormat? {
        // Nearly every body has another type, and to find that out takes no text.
        guard let line = first(.contentType), hasEnvelopeName(line) else { return nil }
        let type = text(line.value).lowercased()
        let name = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        // The text form is Base64 of the envelopes.
        if name.hasPrefix("application/grpc-web-text") { return nil }
        let isConnect = name.hasPrefix("application/connect+")
        guard isConnect || ["grpc", "grpc-web"].contains(Self.subtype(name)) else { return nil }
        let codings = values(of: isConnect ? "connect-content-encoding" : "grpc-encoding")
        let content: EnvelopeFormat.Content
        switch name.split(separator: "+", maxSplits: 1).dropFirst().first {
        case nil, "proto": content = .protobuf
        case "json": content = .text
        default: content = .binary
        }
        return EnvelopeFormat(
            content,
            coding: codings.first { $0.lowercased() != "identity" },
            endFlag: isConnect ? 0x02 : 0x80
        )
    }

    /// Whether the media type begins as those do whose bodies may have envelopes.
    private func hasEnvelopeName(_ line: Line) -> Bool {
        let type = storage.span.extracting(line.value.range)
        return Self.envelopeNames.contains { name in
            type.extracting(first: name.utf8.count).equalsIgnoringCase(name.utf8Span.span)
        }
    }

    private static let envelopeNames: [String] = ["application/grpc", "application/connect+"]

    /// `grpc` of `application/grpc+proto`.
    private static func subtype(_ name: Substring) -> Substring {
        guard name.hasPrefix("application/") else { return "" }
        return name.dropFirst("application/".count).prefix { $0 != "+" }
    }
}

/// A message of a body.
package struct EnvelopedMessage: Sendable, Equatable {
    /// The flag says that it is compressed.
    package var isCompressed: Bool
    /// It has no message but how the call ended: trailers, or the end of a stream of Connect.
    package var isEnd: Bool
    /// At most the limit.
    package var payload: [UInt8] = []
    /// The length that the envelope states.
    package var bytes: UInt32
    /// The body ended within it.
    package var isCut = false
}

/// Reads the messages of one body.
package struct EnvelopeReader {
    private let endFlag: UInt8
    private let bytesMax: Int
    private var head: [UInt8] = []
    private var message: EnvelopedMessage?
    private var left = 0
    /// The bytes are not in envelopes, from the last that was read on.
    package private(set) var hasFailed = false

    private static let headBytes = 5

    /// A reader that keeps at most `bytesMax` bytes of a message.
    package init(_ format: EnvelopeFormat, bytesMax: Int) {
        endFlag = format.endFlag
        self.bytesMax = bytesMax
    }

    /// Reads on, and passes every message that is complete to `take`.
    /// - Returns: Bytes that are in no envelope, once reading has failed.
    package mutating func read(
        _ bytes: Span<UInt8>,
        _ take: (EnvelopedMessage) -> Void
    ) -> [UInt8] {
        if hasFailed { return [UInt8](copying: bytes) }
        var i = 0
        while i < bytes.count {
            if message == nil {
                head.append(bytes[i])
                i += 1
                guard beginMessage() else { return fail(bytes.extracting(droppingFirst: i)) }
            } else {
                let count = min(bytes.count - i, left)
                add(bytes.extracting(i..<i + count))
                i += count
            }
            if left == 0, let whole = message {
                message = nil
                take(whole)
            }
        }
        return []
    }

    /// Takes the end of the body.
    /// - Returns: The message that is not whole.
    package mutating func end() -> EnvelopedMessage? {
        guard var rest = message.take() else { return nil }
        rest.isCut = true
        return rest
    }

    /// Begins a message once the head of the envelope is complete.
    /// - Returns: Whether it may be an envelope.
    private mutating func beginMessage() -> Bool {
        let flags = head[0]
        guard flags & ~(0x01 | endFlag) == 0 else { return false }
        guard head.count == Self.headBytes else { return true }
        let length = head[1...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        message = EnvelopedMessage(
            isCompressed: flags & 0x01 != 0,
            isEnd: flags & endFlag != 0,
            bytes: length
        )
        left = Int(length)
        head.removeAll(keepingCapacity: true)
        return true
    }

    private mutating func add(_ bytes: Span<UInt8>) {
        left -= bytes.count
        let room = bytesMax - (message?.payload.count ?? 0)
        message?.payload.append(copying: bytes.extracting(first: max(0, room)))
    }

    private mutating func fail(_ rest: Span<UInt8>) -> [UInt8] {
        hasFailed = true
        var unread: [UInt8] = []
        swap(&unread, &head)
        unread.append(copying: rest)
        return unread
    }
}
