// Decides whether a tunnel may carry the name that the TLS inside asks for.
import LupinCore
import LupinPolicy
import LupinTLS

/// Why a tunnel ends: before a byte of its client has gone out, or before another host is named.
struct TunnelRefusal {
    let error: LupinError
    /// The TLS alert that tells the client (RFC 8446 §6); nil for a client that speaks no TLS, or
    /// has an answer of the server's.
    private(set) var alert: UInt8?

    /// decode_error, handshake_failure, unrecognized_name and access_denied.
    static let decodeError: UInt8 = 50
    private static let handshakeFailure: UInt8 = 40
    private static let unrecognizedName: UInt8 = 112
    static let accessDenied: UInt8 = 49

    /// A record with a fatal alert (RFC 8446 §6).
    static func record(of alert: UInt8) -> [UInt8] { [21, 3, 3, 0, 2, 2, alert] }

    private init(_ origin: Origin, _ detail: String, alert: UInt8?) {
        error = LupinError(.tunnelNameDenied, host: origin.hostAndPort, detail: detail)
        self.alert = alert
    }

    /// The same without an alert.
    var unannounced: TunnelRefusal {
        var refusal = self
        refusal.alert = nil
        return refusal
    }

    static func name(at origin: Origin, _ detail: String) -> TunnelRefusal {
        TunnelRefusal(origin, detail, alert: unrecognizedName)
    }

    static func hiddenName(at origin: Origin) -> TunnelRefusal {
        TunnelRefusal(
            origin,
            "The TLS inside offers Encrypted ClientHello, which access.ech refuses.",
            alert: handshakeFailure
        )
    }

    /// What came may be TLS, and cannot be read.
    static func unreadable(at origin: Origin) -> TunnelRefusal {
        TunnelRefusal(
            origin,
            "What came inside looks like TLS and holds no readable ClientHello, so no rule can be "
                + "asked for its name.",
            alert: decodeError
        )
    }

    static func unfinished(at origin: Origin, isTLS: Bool) -> TunnelRefusal {
        TunnelRefusal(
            origin,
            "The first bytes inside did not tell within timeouts.tls which name they are for.",
            alert: isTLS ? decodeError : nil
        )
    }

    /// Neither TLS nor HTTP, where names that no rule knows are refused.
    static func unnamed(at origin: Origin) -> TunnelRefusal {
        TunnelRefusal(
            origin,
            "What came inside is neither TLS nor HTTP, and the server did not speak first, so "
                + "another host may be named where no rule sees it. For a protocol like that, list "
                + "port \(origin.port) in access.opaque_ports.",
            alert: nil
        )
    }

    /// HTTP that comes too late to be served as such.
    static func request(at origin: Origin) -> TunnelRefusal {
        TunnelRefusal(
            origin,
            "HTTP came inside a tunnel that is a tunnel already, where no rule sees its Host.",
            alert: nil
        )
    }
}

/// Asks access and rules for the names inside one tunnel.
struct ServerNamePolicy {
    let snapshot: Snapshot
    /// The CONNECT's target.
    let origin: Origin
    /// The CONNECT, as rules see it.
    let subject: MatchSubject

    /// Why a tunnel must not carry TLS that begins with `hello`; nil when it may.
    func refusal(of hello: ClientHello) -> TunnelRefusal? {
        if hello.offersECH, snapshot.access.refusesHiddenNames { return .hiddenName(at: origin) }
        guard let name = hello.serverName else { return nil }
        let objection = snapshot.rules.objection(
            to: name,
            inside: subject,
            access: snapshot.access,
            settings: snapshot.settings
        )
        return objection.map { objection in
            .name(
                at: origin,
                "CONNECT named \(origin.hostAndPort), but the TLS inside asks for \(name): "
                    + "\(objection)."
            )
        }
    }

    /// Whether bytes that show no name must not pass: another name than the CONNECT's would be
    /// refused, whichever it is, as under an allow list.
    var refusesUnnamed: Bool {
        !snapshot.access.mayBeOpaque(port: origin.port)
            && snapshot.rules.objection(
                // No host has it (RFC 6761 §6.4), and no rule names it.
                to: "unnamed.invalid",
                inside: subject,
                access: snapshot.access,
                settings: snapshot.settings
            ) != nil
    }
}
