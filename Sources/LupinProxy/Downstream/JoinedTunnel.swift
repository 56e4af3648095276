// Both directions of a tunnel: how they end, and who ended them.
package import LupinCore
package import LupinUpstream

/// The client's side and the server's, joined by two relays that somebody else pumps.
package struct JoinedTunnel {
    let up: BodyRelay
    let down: BodyRelay
    /// What the client's first bytes show; nil where nobody looks at them.
    private let opening: ClientHelloSniffer?
    private var closedBy: TunnelRecord.Closer?

    init(up: BodyRelay, down: BodyRelay, _ opening: ClientHelloSniffer?) {
        self.up = up
        self.down = down
        self.opening = opening
    }

    package init(up: BodyRelay, down: BodyRelay) { self.init(up: up, down: down, nil) }

    package var isOver: Bool { up.isOver && down.isOver }

    private var lastActivity: UInt64 { max(up.lastActivity, down.lastActivity) }

    /// When it has to be looked at although no byte has moved; it may rest for `idle`.
    func deadline(idle: UInt64) -> UInt64 {
        let due = opening?.verdict == nil ? opening?.deadline ?? .max : .max
        return min(lastActivity &+ idle, due)
    }

    /// Whether it has ended as it may: regularly, or stopped for what the first bytes show.
    /// - Throws: Why it broke.
    package func hasEndedWell() throws(LupinError) -> Bool { try hasEndedEarly() || isOver }

    /// The same for one that may rest no longer than `idle`, and ends where lupin stops.
    /// - Throws: Why it broke, or is broken off.
    package mutating func hasEndedWell(
        now: UInt64,
        idle: UInt64,
        isCut: Bool
    ) throws(LupinError) -> Bool {
        if try hasEndedEarly() { return true }
        let isIdle = now &- lastActivity >= idle
        if isCut || (isIdle && !isOver) {
            closedBy = .lupin
            throw isCut ? .stopping : .tunnelIdle
        }
        if closedBy == nil, up.isOver != down.isOver { closedBy = up.isOver ? .client : .upstream }
        return isOver
    }

    private func hasEndedEarly() throws(LupinError) -> Bool {
        if opening?.isStopped == true || hasClientClosed { return true }
        if let error = up.failure ?? down.failure { throw error }
        return false
    }

    /// Whether the client closed its socket after the end of either direction.
    ///
    /// Its kernel then answers unread bytes with RST, usually the origin's close_notify: that is a
    /// regular end.
    private var hasClientClosed: Bool {
        guard let failure = up.failure ?? down.failure, failure == .clientGone else {
            return false
        }
        return up.state == .finished || down.state == .finished
    }

    /// What the record says of it, once it has ended.
    package var record: TunnelRecord {
        var record = TunnelRecord()
        record.sentBytes = up.bytes
        record.receivedBytes = down.bytes
        record.closedBy = opening?.isStopped == true ? .lupin : closedBy
        if record.closedBy == nil {
            let clientEnded = up.failure == .clientGone || down.failure == .clientGone
            record.closedBy = clientEnded || up.state == .finished ? .client : .upstream
        }
        opening?.note(in: &record)
        return record
    }
}

extension BodyRelay {
    /// The error of the failed side; nil when neither failed.
    var failure: LupinError? {
        switch state {
        case .running, .finishing, .finished: nil
        case .sourceFailed(let error), .sinkFailed(let error): error
        }
    }
}
