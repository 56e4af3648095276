// An HTTP/2 frame as a test writes and reads it: any bytes, also those that no frame may have.

/// One frame of RFC 9113 §4.1.
package struct HTTP2Frame: Sendable, Equatable, CustomStringConvertible {
    /// The types of RFC 9113 §6; any other number is an extension.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let data = Kind(rawValue: 0)
        package static let headers = Kind(rawValue: 1)
        package static let priority = Kind(rawValue: 2)
        package static let resetStream = Kind(rawValue: 3)
        package static let settings = Kind(rawValue: 4)
        package static let pushPromise = Kind(rawValue: 5)
        package static let ping = Kind(rawValue: 6)
        package static let goAway = Kind(rawValue: 7)
        package static let windowUpdate = Kind(rawValue: 8)
        package static let continuation = Kind(rawValue: 9)
        /// A type that nobody has defined.
        package static let unknown = Kind(rawValue: 0x16)
    }

    /// The flags of all types; those of one type say nothing on another.
    package struct Flags: OptionSet, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Of SETTINGS and PING.
        package static let acknowledges = Flags(rawValue: 0x1)
        /// Of DATA and HEADERS.
        package static let endStream = Flags(rawValue: 0x1)
        /// Of HEADERS, PUSH_PROMISE and CONTINUATION.
        package static let endHeaders = Flags(rawValue: 0x4)
        /// Of DATA, HEADERS and PUSH_PROMISE.
        package static let padded = Flags(rawValue: 0x8)
        /// Of HEADERS.
        package static let priority = Flags(rawValue: 0x20)
    }

    /// The codes of RFC 9113 §7.
    package struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package var rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let noError = Code(rawValue: 0)
        package static let protocolError = Code(rawValue: 1)
        package static let internalError = Code(rawValue: 2)
        package static let flowControlError = Code(rawValue: 3)
        package static let settingsTimeout = Code(rawValue: 4)
        package static let streamClosed = Code(rawValue: 5)
        package static let frameSizeError = Code(rawValue: 6)
        package static let refusedStream = Code(rawValue: 7)
        package static let cancel = Code(rawValue: 8)
        package static let compressionError = Code(rawValue: 9)
        package static let connectError = Code(rawValue: 10)
        package static let enhanceYourCalm = Code(rawValue: 11)
        package static let inadequateSecurity = Code(rawValue: 12)
        package static let http11Required = Code(rawValue: 13)

        private static let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL",
            "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]

        package var description: String {
            rawValue < Self.names.count ? Self.names[Int(rawValue)] : "code \(rawValue)"
        }
    }

    /// One setting of RFC 9113 §6.5.2.
    package struct Setting: Sendable, Hashable {
        package var identifier: UInt16
        package var value: UInt32

        package init(_ identifier: UInt16, _ value: UInt32) {
            self.identifier = identifier
            self.value = value
        }

        package static func headerTableSize(_ value: UInt32) -> Setting { Setting(1, value) }
        package static func enablePush(_ value: UInt32) -> Setting { Setting(2, value) }
        package static func maxConcurrentStreams(_ value: UInt32) -> Setting { Setting(3, value) }
        package static func initialWindowSize(_ value: UInt32) -> Setting { Setting(4, value) }
        package static func maxFrameSize(_ value: UInt32) -> Setting { Setting(5, value) }
        package static func maxHeaderListSize(_ value: UInt32) -> Setting { Setting(6, value) }
        /// RFC 8441 §3.
        package static func enableConnectProtocol(_ value: UInt32) -> Setting { Setting(8, value) }
    }

    /// What every connection of a client begins with (RFC 9113 §3.4), before its SETTINGS.
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Octets of a frame's header.
    package static let headerCount = 9

    package var kind: Kind
    package var flags: Flags
    package var stream: UInt32
    package var payload: [UInt8]
    /// What the length field says where it lies.
    package var declaredLength: Int?
    /// The bit before the stream identifier, which has no meaning.
    package var hasReservedBit = false

    package init(
        _ kind: Kind,
        _ flags: Flags = [],
        stream: UInt32 = 0,
        payload: [UInt8] = []
    ) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    // MARK: Bytes

    package var bytes: [UInt8] {
        let length = declaredLength ?? payload.count
        let identifier = stream & 0x7FFF_FFFF | (hasReservedBit ? 0x8000_0000 : 0)
        return [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
            + [UInt8(truncatingIfNeeded: length), kind.rawValue, flags.rawValue]
            + identifier.octets + payload
    }

    /// The frame that `bytes` begin with; nil while it isn't whole.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.headerCount else { return nil }
        let header = Array(bytes.prefix(Self.headerCount))
        let length = Self.length(of: header)
        guard bytes.count >= Self.headerCount + length else { return nil }
        kind = Kind(rawValue: header[3])
        flags = Flags(rawValue: header[4])
        let identifier = UInt32(octets: header[5...])
        stream = identifier & 0x7FFF_FFFF
        hasReservedBit = identifier >> 31 == 1
        payload = Array(bytes.dropFirst(Self.headerCount).prefix(length))
    }

    /// What the length field of a frame's header says.
    package static func length(of header: [UInt8]) -> Int {
        Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
    }

    package var description: String {
        let names = [
            "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING",
            "GOAWAY", "WINDOW_UPDATE", "CONTINUATION",
        ]
        let number = Int(kind.rawValue)
        let name = number < names.count ? names[number] : "type \(number)"
        let bits = String(flags.rawValue, radix: 16)
        return "\(name) stream \(stream) flags 0x\(bits) length \(payload.count)"
    }
}

extension HTTP2Frame {
    /// The settings that a SETTINGS frame carries.
    package var settings: [Setting] {
        stride(from: 0, through: payload.count - 6, by: 6).map { start in
            Setting(
                UInt16(payload[start]) << 8 | UInt16(payload[start + 1]),
                UInt32(octets: payload[(start + 2)...])
            )
        }
    }

    /// The payload without its padding; nil when there is more padding than payload.
    package var unpadded: [UInt8]? {
        guard flags.contains(.padded) else { return payload }
        guard let count = payload.first, Int(count) < payload.count else { return nil }
        return Array(payload.dropFirst().dropLast(Int(count)))
    }
}

extension UInt32 {
    /// In network byte order.
    package var octets: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) }
    }

    /// From the first four octets in network byte order.
    package init(octets: ArraySlice<UInt8>) {
        self = octets.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
