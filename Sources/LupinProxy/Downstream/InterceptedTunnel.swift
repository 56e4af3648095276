// The rules for requests inside an intercepted CONNECT.
import LupinCore
import LupinUpstream

/// The inside of a CONNECT that lupin intercepts.
///
/// There is one authority per exchange: a request inside must name what the CONNECT named, and so
/// must the server name of the client's TLS (RFC 9110 §7.4).
final class InterceptedTunnel {
    /// The target of the CONNECT, with the scheme that is spoken inside.
    let target: KnownTarget
    /// The server name of the client's TLS, if it differs from the target's.
    ///
    /// Such a client gets a certificate for that name, so that it can read our 421.
    let foreignName: String?
    /// TLS with the client; nil for plain HTTP.
    let tls: TLSFilter?

    /// The way that a parent proxy has granted to the client; nil for none.
    let parentTunnel: ParentTunnel?

    init(
        _ target: KnownTarget,
        by parentTunnel: ParentTunnel?,
        foreignName: String? = nil,
        tls: TLSFilter? = nil
    ) {
        self.target = target
        self.parentTunnel = parentTunnel
        self.foreignName = foreignName
        self.tls = tls
    }

    /// Returns the target if a request inside is for it.
    ///
    /// `named` is the origin that the request names, nil when it names none (HTTP/1.0). A name
    /// without a port is the target's, too: clients that reach an origin at another port by options
    /// of theirs send none. Throws 421 (Misdirected Request).
    func admit(_ named: Origin?) throws(LupinError) -> KnownTarget {
        let expected = target.origin.hostAndPort
        if let foreignName {
            throw .request(
                status: 421,
                host: expected,
                detail: "CONNECT named \(expected), but the TLS inside asks for \(foreignName)."
            )
        }
        if let named, named != target.origin, !named.isPortless(of: target.origin) {
            throw .request(
                status: 421,
                host: expected,
                detail: "CONNECT named \(expected), but the request inside is for "
                    + "\(named.scheme.name)://\(named.authority)."
            )
        }
        return target
    }
}

extension Origin {
    /// Whether it differs from `other` only by having its scheme's own port.
    fileprivate func isPortless(of other: Origin) -> Bool {
        host == other.host && scheme == other.scheme && port == scheme.defaultPort
    }
}
