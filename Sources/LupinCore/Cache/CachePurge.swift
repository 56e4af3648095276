// What PURGE is to a cache, and what clients and records are told of it.

extension Method {
    /// The method by which caches are told to drop what they have of a URL; RFC 9110 has none, and
    /// this is the name that Squid and Varnish gave it.
    package static let purge = Method.other("PURGE")
}

/// What was dropped of a store.
package struct CachePurge: Sendable, Equatable {
    /// Stored responses, of all partitions and variants.
    package var responses = 0
    /// Bytes of room that they had.
    package var bytes = 0

    package init(responses: Int = 0, bytes: Int = 0) {
        self.responses = responses
        self.bytes = bytes
    }

    /// 404 where there was nothing to drop.
    package var status: UInt16 { responses > 0 ? 200 : 404 }

    /// For the client that asked by PURGE, with a full stop.
    package var sentence: String {
        if responses == 0 { return "lupin has nothing stored of this URL." }
        let noun = responses == 1 ? "stored response" : "stored responses"
        return "lupin dropped \(responses) \(noun) of this URL."
    }

    /// What Cache-Status and the record say: neither a hit nor forwarded (RFC 9211 §2).
    package func text(name: String = CachePolicy.defaultStatusName) -> String {
        var status = CacheStatus()
        status.isAnsweredHere = true
        status.detail = "purged \(responses)"
        return status.text(name: name)
    }

    /// Why a stranger's PURGE gets 403.
    package static let refusal =
        "PURGE is for the user that lupin runs as and for root, on this machine."
}
