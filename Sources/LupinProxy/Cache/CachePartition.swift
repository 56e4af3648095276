// Which of the stored responses under a URL a request may find.
package import LupinCaching
package import LupinCore
package import LupinPolicy
package import LupinTLS
package import LupinUpstream

/// What separates the response of one request from those of others: all of them share it, or the
/// clients with these credentials, or the requests with this content.
package struct CachePartition {
    private var text: String
    /// The exchange that asks, which shares with no other where it can't be told from others.
    private let id: ExchangeID

    package init(of id: ExchangeID, _ attachments: Attachments) {
        self.id = id
        text = attachments.partition
    }

    package mutating func separate(
        by parts: [CacheSeparation],
        of user: ClientUser,
        at address: IPAddress,
        isThroughSibling: Bool
    ) {
        for part in parts {
            switch part {
            case .user:
                text += owner(user, at: address, isThroughSibling: isThroughSibling) + "\n"
            case .authorization(let values): for value in values { text += "auth \(value)\n" }
            case .cookie(let values): for value in values { text += "cookie \(value)\n" }
            }
        }
    }

    /// The owner of a private response.
    ///
    /// An unknown client through another lupin shares with no other request; any other unknown
    /// client shares with those of the same address.
    private func owner(
        _ user: ClientUser,
        at address: IPAddress,
        isThroughSibling: Bool
    ) -> String {
        switch user {
        case .named(let name): "name \(name)"
        case .number(let number): "user \(number)"
        case .unknown: isThroughSibling ? "request \(id)" : "address \(address.text)"
        }
    }

    /// Pages of one origin share what is stored; one that can't be told from others shares nothing.
    package mutating func separate(by pages: [ForeignPage]) {
        for page in pages {
            switch page {
            case .origin: text += "\(page.text)\n"
            case .other, .unnamed: text += "page of \(id)\n"
            }
        }
    }

    package mutating func separate(byContent key: String) { text += "query \(key)\n" }

    /// Its name, which shows nothing of what it was made of; empty for that of all requests.
    package func name(by digests: @autoclosure () -> KeyedDigest) -> String {
        if text.isEmpty { return "" }
        let digest = digests().sha256(text.utf8.span)
        return digest.prefix(16).map { String($0, radix: 16) }.joined(separator: ".")
    }
}
