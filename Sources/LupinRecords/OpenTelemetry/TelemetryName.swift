// The attributes that lupin exports: name, convention and meaning of each.

/// An attribute of a span, a log record or a data point.
///
/// The manual's table is made of these cases: an attribute that is not here does not exist.
package enum TelemetryName: String, Sendable, CaseIterable {
    case method = "http.request.method"
    case originalMethod = "http.request.method_original"
    case status = "http.response.status_code"
    case resendCount = "http.request.resend_count"
    case requestSize = "http.request.body.size"
    case responseSize = "http.response.body.size"
    case fullURL = "url.full"
    case scheme = "url.scheme"
    case path = "url.path"
    case query = "url.query"
    case serverAddress = "server.address"
    case serverPort = "server.port"
    case clientAddress = "client.address"
    case clientPort = "client.port"
    case userAgent = "user_agent.original"
    case peerAddress = "network.peer.address"
    case peerPort = "network.peer.port"
    case protocolName = "network.protocol.name"
    case protocolVersion = "network.protocol.version"
    case tlsVersion = "tls.protocol.version"
    case errorType = "error.type"
    case exchangeID = "lupin.exchange.id"
    case outcome = "lupin.outcome"
    case mode = "lupin.mode"
    case rules = "lupin.rules"
    case rule = "lupin.rule"
    case program = "lupin.client.program"
    case cacheStatus = "lupin.cache.status"
    case token = "lupin.token.name"
    case tokenVersion = "lupin.token.version"
    case tokenAction = "lupin.token.action"
    case cause = "lupin.attempt.cause"
    case decision = "lupin.attempt.decision"
    case reason = "lupin.attempt.reason"
    case isReused = "lupin.connection.reused"
    case blocked = "lupin.timing.blocked"
    case dns = "lupin.timing.dns"
    case tcp = "lupin.timing.tcp"
    case tls = "lupin.timing.tls"
    case wait = "lupin.timing.wait"
    case why = "lupin.why"
    case direction = "lupin.direction"

    /// The OpenTelemetry convention that defines the attribute.
    package enum Convention: String, Sendable {
        case http = "HTTP spans"
        case general = "general attributes"
        case tls = "TLS"
        case own = "lupin"
    }

    /// Where the attribute stands.
    package enum Item: String, Sendable {
        case exchange, attempt, cache, token
        /// The request to a token server.
        case tokenRequest = "token request"
        case log, metric
    }

    /// One row of the manual's table.
    package struct Row: Sendable {
        package let convention: Convention
        package let items: [Item]
        package let meaning: String

        fileprivate init(_ convention: Convention, _ items: [Item], _ meaning: String) {
            self.convention = convention
            self.items = items
            self.meaning = meaning
        }
    }

    package var row: Row {
        switch self {
        case .method:
            Row(.http, [.exchange, .attempt, .tokenRequest, .log], "the method, or `_OTHER`")
        case .originalMethod:
            Row(.http, [.exchange, .attempt, .log], "the method, if that is `_OTHER`")
        case .status:
            Row(
                .http,
                [.exchange, .attempt, .tokenRequest, .log],
                "what the client got, or what the server sent"
            )
        case .resendCount: Row(.http, [.attempt], "attempts before this one; absent for the first")
        case .requestSize: Row(.http, [.exchange, .log], "bytes of the body as transferred")
        case .responseSize: Row(.http, [.exchange, .log], "bytes of the body as transferred")
        case .fullURL: Row(.http, [.attempt, .log], "the URL, redacted as in the record")
        case .scheme: Row(.http, [.exchange, .log], "`http` or `https`")
        case .path: Row(.http, [.exchange], "the path without the query, redacted")
        case .query: Row(.http, [.exchange], "the query, redacted")
        case .serverAddress:
            Row(.http, [.exchange, .attempt, .tokenRequest, .log], "the host of the URL")
        case .serverPort: Row(.http, [.exchange, .attempt, .tokenRequest, .log], "its port")
        case .clientAddress: Row(.http, [.exchange, .log], "where the request came from")
        case .clientPort: Row(.http, [.exchange], "its port")
        case .userAgent: Row(.http, [.exchange], "the client's `User-Agent`, redacted")
        case .peerAddress:
            Row(.general, [.attempt], "the address of the origin, or of its parent proxy")
        case .peerPort: Row(.general, [.attempt], "its port")
        case .protocolName: Row(.general, [.exchange, .attempt, .log], "`http`")
        case .protocolVersion:
            Row(.general, [.exchange, .attempt, .log], "`1.0`, `1.1` or `2`, on that side")
        case .tlsVersion: Row(.tls, [.attempt], "`1.2` or `1.3`, with the origin")
        case .errorType:
            Row(
                .http,
                [.exchange, .attempt, .tokenRequest, .log],
                "a token of RFC 9209, or the status where that is the error"
            )
        case .exchangeID:
            Row(.own, [.exchange, .log], "the ID of the record; `lupin explain ID` tells more")
        case .outcome:
            Row(
                .own,
                [.exchange, .log, .metric],
                "`ok`, `error`, `aborted`, `truncated` or `denied`"
            )
        case .mode: Row(.own, [.exchange, .log], "`http`, `intercept`, `tunnel` or `upgrade`")
        case .rules: Row(.own, [.exchange, .log], "names of the rules that matched")
        case .rule: Row(.own, [.metric], "the last rule that matched; absent without one")
        case .program: Row(.own, [.exchange, .log], "the client's program, where it is looked up")
        case .cacheStatus:
            Row(.own, [.exchange, .cache, .log], "lupin's member of Cache-Status (RFC 9211)")
        case .token:
            Row(
                .own,
                [.exchange, .token, .tokenRequest, .log],
                "a name under `tokens`; never the token"
            )
        case .tokenVersion: Row(.own, [.exchange, .log], "number of the credential, from 1")
        case .tokenAction:
            Row(.own, [.exchange, .log], "`used`, `refreshed`, `waited`, `failed` …")
        case .cause: Row(.own, [.attempt], "`first`, `retry`, `auth`, `redirect`, `hedge` …")
        case .decision: Row(.own, [.attempt], "`deliver`, `retry`, `refresh`, `follow` …")
        case .reason: Row(.own, [.attempt], "why, for people")
        case .isReused: Row(.own, [.attempt], "whether the connection came from the pool")
        case .blocked: Row(.own, [.attempt], "ms in lupin: queue, pool, token, back-off")
        case .dns: Row(.own, [.attempt], "ms for looking up the name")
        case .tcp: Row(.own, [.attempt], "ms for connecting")
        case .tls: Row(.own, [.attempt], "ms for TLS")
        case .wait: Row(.own, [.attempt], "ms from the request's last byte to the first one back")
        case .why: Row(.own, [.metric], "why an attempt was repeated")
        case .direction:
            Row(.own, [.metric], "`client_in`, `client_out`, `upstream_out`, `upstream_in`")
        }
    }
}

/// The value of an attribute.
package enum TelemetryValue: Sendable, Equatable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case texts([String])
    /// A number of microseconds, exported in milliseconds.
    case milliseconds(Int64)
}

/// Attributes in the order in which they are exported.
package struct TelemetryAttributes: Sendable, Equatable {
    package private(set) var all: [(name: TelemetryName, value: TelemetryValue)] = []

    package init() {}

    package subscript(_ name: TelemetryName) -> TelemetryValue? {
        all.first { $0.name == name }?.value
    }

    package mutating func add(_ name: TelemetryName, _ value: TelemetryValue) {
        all.append((name, value))
    }

    /// Adds a text, unless it is empty.
    package mutating func add(_ name: TelemetryName, text: String?) {
        if let text, !text.isEmpty { add(name, .text(text)) }
    }

    package mutating func add(_ name: TelemetryName, number: UInt64?) {
        if let number { add(name, .number(Int64(clamping: number))) }
    }

    package mutating func add(_ name: TelemetryName, microseconds: Int64?) {
        if let microseconds { add(name, .milliseconds(microseconds)) }
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.all.elementsEqual(b.all) { $0.name == $1.name && $0.value == $1.value }
    }
}
