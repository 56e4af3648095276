// How a test makes frames of every type; what a frame must not be is made by changing one of these.

extension HTTP2Frame {
    /// DATA; with `padding` it is padded by that many octets.
    package static func data(
        _ stream: UInt32,
        _ bytes: [UInt8] = [],
        end: Bool = false,
        padding: UInt8? = nil
    ) -> HTTP2Frame {
        let frame = HTTP2Frame(.data, end ? .endStream : [], stream: stream, payload: bytes)
        return frame.padded(padding)
    }

    package static func data(_ stream: UInt32, _ text: String, end: Bool = false) -> HTTP2Frame {
        data(stream, Array(text.utf8), end: end)
    }

    /// HEADERS with a block that is taken as it is.
    package static func headers(
        _ stream: UInt32,
        block: [UInt8],
        end: Bool = false,
        endHeaders: Bool = true,
        priority: Priority? = nil,
        padding: UInt8? = nil
    ) -> HTTP2Frame {
        var flags: Flags = endHeaders ? .endHeaders : []
        if end { flags.insert(.endStream) }
        if priority != nil { flags.insert(.priority) }
        let payload = (priority?.octets ?? []) + block
        return HTTP2Frame(.headers, flags, stream: stream, payload: payload).padded(padding)
    }

    /// HEADERS with fields, of which each is a literal that nobody remembers.
    package static func headers(
        _ stream: UInt32,
        _ fields: HTTP2Fields,
        end: Bool = false,
        priority: Priority? = nil,
        padding: UInt8? = nil
    ) -> HTTP2Frame {
        headers(
            stream,
            block: HPACK.block(fields),
            end: end,
            priority: priority,
            padding: padding
        )
    }

    /// A block in frames of at most `size` octets: HEADERS, and CONTINUATION behind it.
    package static func headerFrames(
        _ stream: UInt32,
        block: [UInt8],
        end: Bool = false,
        size: Int = 16_384
    ) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = block[...]
        repeat {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            frames.append(
                frames.isEmpty
                    ? headers(stream, block: piece, end: end, endHeaders: rest.isEmpty)
                    : continuation(stream, block: piece, endHeaders: rest.isEmpty)
            )
        } while !rest.isEmpty
        return frames
    }

    package static func continuation(
        _ stream: UInt32,
        block: [UInt8],
        endHeaders: Bool = true
    ) -> HTTP2Frame {
        HTTP2Frame(.continuation, endHeaders ? .endHeaders : [], stream: stream, payload: block)
    }

    /// What RFC 9113 §5.3.2 has deprecated: a stream's place in a tree.
    package struct Priority: Sendable {
        package var dependency: UInt32
        package var isExclusive = false
        /// From 0 for a weight of 1.
        package var weight: UInt8 = 15

        package init(on dependency: UInt32, isExclusive: Bool = false, weight: UInt8 = 15) {
            self.dependency = dependency
            self.isExclusive = isExclusive
            self.weight = weight
        }

        package var octets: [UInt8] {
            (dependency & 0x7FFF_FFFF | (isExclusive ? 0x8000_0000 : 0)).octets + [weight]
        }
    }

    package static func priority(_ stream: UInt32, _ priority: Priority) -> HTTP2Frame {
        HTTP2Frame(.priority, stream: stream, payload: priority.octets)
    }

    package static func resetStream(_ stream: UInt32, _ code: Code = .cancel) -> HTTP2Frame {
        HTTP2Frame(.resetStream, stream: stream, payload: code.rawValue.octets)
    }

    package static func settings(_ settings: Setting...) -> HTTP2Frame { Self.settings(settings) }

    package static func settings(_ settings: [Setting]) -> HTTP2Frame {
        let payload = settings.flatMap { setting in
            [UInt8(setting.identifier >> 8), UInt8(setting.identifier & 0xFF)]
                + setting.value.octets
        }
        return HTTP2Frame(.settings, payload: payload)
    }

    package static let settingsAcknowledgement = HTTP2Frame(.settings, .acknowledges)

    package static func pushPromise(
        _ stream: UInt32,
        promising promised: UInt32,
        _ fields: HTTP2Fields
    ) -> HTTP2Frame {
        let payload = promised.octets + HPACK.block(fields)
        return HTTP2Frame(.pushPromise, .endHeaders, stream: stream, payload: payload)
    }

    /// PING with eight octets.
    package static func ping(_ text: String = "lupin :)", isAnswer: Bool = false) -> HTTP2Frame {
        HTTP2Frame(.ping, isAnswer ? .acknowledges : [], payload: Array(text.utf8))
    }

    package static func goAway(
        last stream: UInt32 = 0,
        _ code: Code = .noError,
        debug: String = ""
    ) -> HTTP2Frame {
        HTTP2Frame(.goAway, payload: stream.octets + code.rawValue.octets + Array(debug.utf8))
    }

    /// WINDOW_UPDATE of a stream, or of the connection by stream 0.
    package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> HTTP2Frame {
        HTTP2Frame(.windowUpdate, stream: stream, payload: increment.octets)
    }

    /// A frame of a type that nobody has defined.
    package static func unknown(_ stream: UInt32 = 0, flags: Flags = []) -> HTTP2Frame {
        HTTP2Frame(.unknown, flags, stream: stream, payload: Array("whatever".utf8))
    }

    // MARK: Changes

    /// The same frame with what `change` does to it.
    package func changed(_ change: (inout HTTP2Frame) -> Void) -> HTTP2Frame {
        var frame = self
        change(&frame)
        return frame
    }

    /// The same frame on another stream.
    package func on(_ stream: UInt32) -> HTTP2Frame { changed { $0.stream = stream } }

    /// The same frame with `count` octets of payload: cut, or filled with zeros.
    package func sized(_ count: Int) -> HTTP2Frame {
        changed {
            let missing = max(0, count - $0.payload.count)
            $0.payload = Array($0.payload.prefix(count)) + [UInt8](repeating: 0, count: missing)
        }
    }

    private func padded(_ count: UInt8?) -> HTTP2Frame {
        guard let count else { return self }
        return changed {
            $0.flags.insert(.padded)
            $0.payload = [count] + $0.payload + [UInt8](repeating: 0, count: Int(count))
        }
    }
}
