// What an intercepted CONNECT means for the requests inside it.
import LupinCore

/// The inside of a CONNECT that lupin answers itself.
///
/// There is one authority per exchange: what a request inside names must be what the CONNECT
/// named, and so is the name in the client's TLS (RFC 9110 §7.4).
final class Enclosure {
    /// Where the CONNECT wanted to go, with the scheme that is spoken inside.
    let target: KnownTarget
    /// The name that the client's TLS asked for, where it is another than the target's.
    ///
    /// Such a client gets a certificate for that name, so that it can read our 421.
    let foreignName: String?
    /// TLS with the client; nil where plain HTTP is spoken.
    let tls: TLSFilter?

    init(_ target: KnownTarget, foreignName: String? = nil, tls: TLSFilter? = nil) {
        self.target = target
        self.foreignName = foreignName
        self.tls = tls
    }

    /// The target, if a request inside is for it.
    ///
    /// `named` is what the request itself names, nil when it names nothing (HTTP/1.0). Throws 421
    /// (Misdirected Request).
    func admit(_ named: Origin?) throws(LupinError) -> KnownTarget {
        let expected = target.origin.hostAndPort
        if let foreignName {
            throw .request(
                status: 421,
                host: expected,
                detail: "CONNECT named \(expected), but the TLS inside asks for \(foreignName)."
            )
        }
        if let named, named != target.origin {
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
