// The PURGE method, and its results for clients and records.

package import LupinCore
import LupinPolicy

extension Method {
    /// The method that makes caches drop the responses of a URL; RFC 9110 has none, and this is the
    /// name that Squid and Varnish use.
    package static let purge = Method.other("PURGE")
}

/// The result of dropping stored responses.
package struct CachePurge: Sendable, Equatable {
    /// The number of responses, of all partitions and variants.
    package var responses = 0
    /// The bytes of room that they took.
    package var bytes = 0

    package init(responses: Int = 0, bytes: Int = 0) {
        self.responses = responses
        self.bytes = bytes
    }

    /// 404 when there was nothing to drop.
    package var status: UInt16 { responses > 0 ? 200 : 404 }

    /// For the client that sent PURGE, with a full stop.
    package var sentence: String {
        if responses == 0 { return "lupin has nothing stored of this URL." }
        let noun = responses == 1 ? "stored response" : "stored responses"
        return "lupin dropped \(responses) \(noun) of this URL."
    }

    /// The text of Cache-Status and the record: neither a hit nor forwarded (RFC 9211 §2).
    package func text(name: String = CachePolicy.defaultStatusName) -> String {
        var status = CacheStatus()
        status.isAnsweredHere = true
        status.detail = "purged \(responses)"
        return status.text(name: name)
    }

    /// Why the PURGE of another user gets 403.
    package static let refusal =
        "PURGE is for the user that lupin runs as and for root, on this machine."
}
