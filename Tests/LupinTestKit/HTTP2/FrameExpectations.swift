// What a peer owes to somebody who broke the rules: GOAWAY, RST_STREAM or the end.

extension FrameStream {
    /// What a peer did about an error.
    package enum Reaction: Sendable, Equatable {
        case goAway(HTTP2Frame.Code)
        case reset(HTTP2Frame.Code)
        case ended
    }

    /// GOAWAY with one of `codes`, whatever comes before it.
    @discardableResult
    package func expectGoAway(_ codes: HTTP2Frame.Code...) throws -> UInt32 {
        let (last, code, debug) = try first("GOAWAY") { event in
            guard case .goAway(let last, let code, let debug) = event else {
                return (UInt32, HTTP2Frame.Code, String)?.none
            }
            return (last, code, debug)
        }
        guard codes.contains(code) else {
            throw SocketFailure("GOAWAY with \(code) \(debug) instead of \(codes)")
        }
        return last
    }

    /// RST_STREAM with one of `codes` on `stream`; nothing else will do.
    package func expectReset(_ stream: UInt32, _ codes: HTTP2Frame.Code...) throws {
        let code = try first("a reset of stream \(stream)") { event in
            if case .reset(stream, let code) = event { code } else { nil }
        }
        guard codes.contains(code) else {
            throw SocketFailure("a reset with \(code) instead of \(codes)")
        }
    }

    /// The end of the connection, which GOAWAY with one of `codes` may announce (RFC 9113 §5.4.1).
    package func expectConnectionError(_ codes: HTTP2Frame.Code...) throws {
        try expectConnectionError(codes)
    }

    package func expectConnectionError(_ codes: [HTTP2Frame.Code]) throws {
        let reaction = try reaction(wanting: "a connection error", resetOf: nil)
        if case .goAway(let code) = reaction {
            guard codes.contains(code) else {
                throw SocketFailure("GOAWAY with \(code) instead of \(codes)")
            }
            _ = try waitForEnd()
        }
    }

    /// RST_STREAM with one of `codes`, or what is due to a connection error (§5.4.2 allows both).
    @discardableResult
    package func expectStreamError(
        _ stream: UInt32,
        _ codes: HTTP2Frame.Code...
    ) throws -> Reaction {
        try expectStreamError(stream, codes)
    }

    @discardableResult
    package func expectStreamError(
        _ stream: UInt32,
        _ codes: [HTTP2Frame.Code]
    ) throws -> Reaction {
        let reaction = try reaction(wanting: "an error on \(stream)", resetOf: stream)
        switch reaction {
        case .goAway(let code), .reset(let code):
            guard codes.contains(code) else {
                throw SocketFailure("\(reaction) instead of \(codes)")
            }
        case .ended: break
        }
        return reaction
    }

    /// That the peer lives on, or has had enough of the connection for one of `codes`.
    package func expectEither(_ codes: HTTP2Frame.Code...) throws {
        let mark = nextMark()
        sendAnyway(.ping(mark))
        let reaction = try reaction(wanting: "an answer to PING", resetOf: nil) { event in
            if case .pingAnswered(Array(mark.utf8)) = event { .reset(.noError) } else { nil }
        }
        guard case .goAway(let code) = reaction, !codes.contains(code) else { return }
        throw SocketFailure("GOAWAY with \(code) instead of \(codes) or nothing")
    }

    /// That the peer has acknowledged SETTINGS.
    package func expectSettingsAcknowledged() throws {
        _ = try first("an acknowledgement of SETTINGS") { event in
            if case .settingsAcknowledged = event { true } else { nil }
        }
    }

    /// That the peer has no objection: it answers a PING, and nothing bad comes before.
    package func expectAlive() throws {
        let mark = nextMark()
        try send(.ping(mark))
        _ = try first("an answer to PING") { event in
            switch event {
            case .pingAnswered(Array(mark.utf8)): return true
            // An early response may be followed by this (RFC 9113 §8.1).
            case .reset(_, .noError): return nil
            case .goAway, .reset: throw SocketFailure("\(event) before an answer to PING")
            default: return nil
            }
        }
    }

    /// The first error on the connection or on `stream`, or what else `pick` takes for one.
    package func reaction(
        wanting what: String,
        resetOf stream: UInt32?,
        _ pick: (FrameEvent) throws -> Reaction? = { _ in nil }
    ) throws -> Reaction {
        do {
            return try first(what) { event in
                switch event {
                case .goAway(_, let code, _): .goAway(code)
                case .reset(let id, let code) where id == stream: .reset(code)
                default: try pick(event)
                }
            }
        } catch let failure as SocketFailure {
            guard end != nil else { throw failure }
            return .ended
        }
    }
}
