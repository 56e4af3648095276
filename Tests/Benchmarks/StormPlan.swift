// What the load of a storm is told, and what it tells: the order, and what came of it.

/// What the load of a storm is to do.
struct StormPlan: Codable, Sendable {
    var proxyPort: UInt16
    /// Of an origin that speaks HTTP/1.1, also in TLS.
    var originPort: UInt16
    /// Of an origin that speaks HTTP/2 in TLS.
    var http2OriginPort: UInt16
    var seed: UInt64
    /// The first request's number.
    var first = 0
    /// How many requests are sent.
    var requests: Int
    /// Plain requests, without anything out of the way.
    var isPlain = false
    /// PEM of the root below which the proxy's certificates must be.
    var rootFile: String
    var clients = StormClients.allCases.map { StormClientCount(kind: $0, count: $0.usualCount) }

    /// How long the whole storm may take.
    var secondsMax: Double { 120 + Double(requests) / 500 }

    /// The origin as these clients name it: what is intercepted has a name.
    func authority(for kind: StormClients) -> String {
        let port = kind.isToHTTP2 ? http2OriginPort : originPort
        return "\(kind.isIntercepted ? Certificates.originName : "127.0.0.1"):\(port)"
    }

    /// The request that has this number.
    func request(_ number: Int) -> StormRequest {
        isPlain
            ? StormRequest(plain: number, seed: seed) : StormRequest(number, seed: seed)
    }
}

/// A kind of clients, and how many of them there are.
struct StormClientCount: Codable, Sendable {
    var kind: StormClients
    var count: Int
}

/// How clients of a storm speak with the proxy.
enum StormClients: String, CaseIterable, Codable {
    case http1 = "HTTP/1.1"
    case http2 = "HTTP/2"
    case http1Intercepted = "HTTP/1.1 intercepted"
    case http2Intercepted = "HTTP/2 intercepted"
    case http1ToHTTP2 = "HTTP/1.1 intercepted to HTTP/2"
    case http2ToHTTP2 = "HTTP/2 intercepted to HTTP/2"

    var isIntercepted: Bool { self != .http1 && self != .http2 }

    var isHTTP2: Bool {
        switch self {
        case .http1, .http1Intercepted, .http1ToHTTP2: false
        case .http2, .http2Intercepted, .http2ToHTTP2: true
        }
    }

    /// Whether the origin speaks HTTP/2; else it speaks HTTP/1.1.
    var isToHTTP2: Bool { self == .http1ToHTTP2 || self == .http2ToHTTP2 }

    /// Connections at a time.
    var usualCount: Int { isHTTP2 ? 4 : 24 }

    /// Requests at a time on one connection of HTTP/2.
    static let streams = 16
}

/// What the load of a storm saw.
struct StormResult: Codable, Sendable {
    struct Row: Codable, Sendable {
        var part: StormPart
        var counts: [StormOutcome: Int] = [:]
    }

    /// What is wrong; everything else is of no use then.
    var failure: String?
    var rows: [Row] = []
    /// Requests by the kinds of clients that sent them.
    var clients: [StormClients: Int] = [:]
    /// lupin's own answers by their type of error.
    var errors: [String: Int] = [:]
    /// The lowest and the highest version of the rules that answers were made under.
    var versions: ClosedRange<Int>?
    /// How many versions there were answers of.
    var versionCount = 0
    var seconds = 0.0

    /// All requests whose outcome is known.
    var requests: Int { clients.values.reduce(0, +) }
}
