// What the engine notes down while an exchange runs; how it is written is another file's question.

/// The record of one exchange.
///
/// Filling it is a handful of stores: heads are kept by value (two reference counts until somebody
/// changes them) and become text only when a line is written. What few exchanges have lies in a box
/// of its own, so that all others are moved and forgotten at small cost.
package struct ExchangeRecord: Sendable {
    /// How the exchange ended; the raw value is the record's word.
    package enum Outcome: String, Sendable, CaseIterable {
        /// A complete response was delivered, whatever its status.
        case ok
        /// lupin made the response because something failed.
        case error
        /// The client left.
        case aborted
        /// Upstream failed after the head of its response had been sent on.
        case truncated
        /// A rule or a list forbade it.
        case denied
    }

    /// How the client used the proxy.
    package enum Mode: String, Sendable {
        case http, intercept, tunnel, upgrade
    }

    package var id: ExchangeID
    /// Start of the exchange: wall clock, µs since 1970-01-01T00:00:00Z.
    package var startMicroseconds: Int64
    package var outcome = Outcome.ok
    package var mode = Mode.http
    package var client = ClientRecord()

    /// The client's original request; nil when its head could not be read.
    package var request: RequestHead?
    /// Where the client wanted to go: its scheme, host and port.
    package var origin: Origin?
    /// HTTP version on the client's side.
    package var version = ProtocolVersion.http11
    /// The stream of the client's connection that carried the exchange; nil with HTTP/1.
    package var stream: UInt32?
    /// How that stream ended before its time; nil where both sides ended it.
    package var reset: HTTP2Reset?
    /// The final response as the client got it; nil when it got none.
    package var response: ResponseHead?
    /// Payload bytes as transferred, without framing; nil when there was no message.
    package var requestBodyBytes: UInt64?
    package var responseBodyBytes: UInt64?

    package var bytes = ByteCounts()
    package var rules = RulesRecord()
    package var attempts: [AttemptRecord] = []
    package var timing = Timing()
    /// What the cache had to do with it, as `Cache-Status` has it (RFC 9211); nil for nothing.
    package var cache: String?
    /// Nil where the exchange has none of it.
    private var rare: Box?

    /// Which field names and values the line holds.
    package var headers = LogSettings.Headers.names
    /// `log: off` holds for this exchange.
    package var isLogOff = false

    package init(id: ExchangeID, startMicroseconds: Int64) {
        self.id = id
        self.startMicroseconds = startMicroseconds
    }

    // MARK: What few exchanges have

    private indirect enum Box: Sendable {
        case holding(Rare)
    }

    private struct Rare: Sendable {
        var error: LupinError?
        var tunnel: TunnelRecord?
        var authentication: AuthenticationRecord?
        var validation: ValidationRecord?
        var redirects: [RedirectRecord] = []
        var trust: TrustRecord?
        var bypass: BypassRecord?
    }

    /// Whether it may have something of what few exchanges have.
    package var hasRare: Bool { rare != nil }

    private var held: Rare? {
        if case .holding(let rare)? = rare { rare } else { nil }
    }

    private mutating func change(_ change: (inout Rare) -> Void) {
        var rare = held ?? Rare()
        change(&rare)
        self.rare = .holding(rare)
    }

    /// Set for outcomes `error`, `denied` and `truncated`.
    package var error: LupinError? {
        get { held?.error }
        set { if rare != nil || newValue != nil { change { $0.error = newValue } } }
    }
    package var tunnel: TunnelRecord? {
        get { held?.tunnel }
        set { change { $0.tunnel = newValue } }
    }
    /// What became of the credential that a rule names; nil where none does.
    package var authentication: AuthenticationRecord? {
        get { held?.authentication }
        set { change { $0.authentication = newValue } }
    }
    /// What `validate:` said of the response; nil where nothing was demanded.
    package var validation: ValidationRecord? {
        get { held?.validation }
        set { change { $0.validation = newValue } }
    }
    /// Redirects that were followed, in order.
    package var redirects: [RedirectRecord] {
        get { held?.redirects ?? [] }
        set { change { $0.redirects = newValue } }
    }
    /// What was thought of the origin's certificates; nil where TLS was not lupin's business.
    package var trust: TrustRecord? {
        get { held?.trust }
        set { if rare != nil || newValue != nil { change { $0.trust = newValue } } }
    }

    /// Why a tunnel was not decrypted although rules want that; nil where nothing was bypassed.
    package var bypass: BypassRecord? {
        get { held?.bypass }
        set { if rare != nil || newValue != nil { change { $0.bypass = newValue } } }
    }

    /// The fields of both heads.
    package struct Fields {
        package var request = FieldSection()
        package var response = FieldSection()
    }

    /// Moves the fields out of the heads.
    package mutating func takeFields() -> Fields {
        var fields = Fields()
        if var head = request.take() {
            swap(&fields.request, &head.fields)
            request = head
        }
        if var head = response.take() {
            swap(&fields.response, &head.fields)
            response = head
        }
        return fields
    }

    /// Whether a line is due: `log: off` silences outcome `ok` only.
    package var isDue: Bool { !isLogOff || outcome != .ok }
}

/// 128 bits that name an exchange everywhere.
package struct ExchangeID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// 32 lower-case hex digits.
    package var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        bytes.append(hex: high, digits: 16)
        bytes.append(hex: low, digits: 16)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// How many digits people are shown: enough to tell the exchanges of a day apart.
    package static let shortDigits = 8

    /// The first 8 digits, for people; commands take them for the whole.
    package var short: String {
        var bytes: [UInt8] = []
        bytes.append(hex: high >> 32, digits: Self.shortDigits)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Who asked.
package struct ClientRecord: Sendable {
    package var address: IPAddress?
    package var port: UInt16 = 0
    /// Looked up only where a rule or `log: {program: true}` wants it; the client can forge it.
    package var program: String?
    package var pid: Int32?
    /// Whose password was right, where the listener asks for one.
    package var user: String?
}

/// The end of a client's HTTP/2 stream before its time.
package struct HTTP2Reset: Sendable, Equatable {
    /// Who ended it; the raw value is the record's word.
    package enum Party: String, Sendable {
        case client
        case lupin = "proxy"
    }

    package var code: HTTP2ErrorCode
    package var by: Party

    package init(_ code: HTTP2ErrorCode, by party: Party) {
        self.code = code
        by = party
    }
}

/// Bytes on the wire with framing, without TLS.
package struct ByteCounts: Sendable {
    package var clientIn: UInt64 = 0
    package var clientOut: UInt64 = 0
    package var upstreamOut: UInt64 = 0
    package var upstreamIn: UInt64 = 0

    package init() {}
}

/// Which rules ruled.
package struct RulesRecord: Sendable {
    /// `Configuration.version` of the snapshot that the exchange began with.
    package var version = ""
    /// Names of the rules that matched, in file order.
    package var matched: [String] = []
    /// Summaries of the steps that were really applied.
    package var steps: [String] = []
}

/// What became of a credential; the credential itself is never in it.
package struct AuthenticationRecord: Sendable, Equatable {
    /// The raw value is the record's word.
    package enum Action: String, Sendable {
        case none, used, refreshed, waited, failed, excessive, missing
    }

    /// The name under `tokens`.
    package var token: String
    /// Which credential of that name it was, counted from 1; 0 for none.
    package var version = 0
    package var action = Action.none
    package var waitMicroseconds: Int64?

    package init(token: String) { self.token = token }
}

/// What `validate:` said of a response.
package struct ValidationRecord: Sendable, Equatable {
    /// What does not hold, in words; nil where everything does.
    package var condition: String?
    /// What happened to a response that failed.
    package var action: ValidationPolicy.Action?
    /// What could not be judged; empty for nothing.
    package var note: String

    package init(
        condition: String? = nil,
        action: ValidationPolicy.Action? = nil,
        note: String = ""
    ) {
        self.condition = condition
        self.action = action
        self.note = note
    }
}

/// A redirect that lupin followed.
package struct RedirectRecord: Sendable, Equatable {
    package var status: UInt16
    /// The URL that it led to.
    package var location: String

    package init(status: UInt16, location: String) {
        self.status = status
        self.location = location
    }
}

/// Rules that a tunnel went past, because its client had refused lupin's certificate.
package struct BypassRecord: Sendable, Equatable {
    /// The record's word for the one reason that there is.
    package static let reason = "client_rejects"

    /// When the client refused first, in microseconds since 1970.
    package var sinceMicroseconds: Int64
    /// Until when its next CONNECT is a tunnel, too.
    package var untilMicroseconds: Int64
    /// The TLS alert by which it refused (RFC 8446 §6).
    package var cause: String

    package init(sinceMicroseconds: Int64, untilMicroseconds: Int64, cause: String) {
        self.sinceMicroseconds = sinceMicroseconds
        self.untilMicroseconds = untilMicroseconds
        self.cause = cause
    }
}

/// One try to get an answer from upstream.
package struct AttemptRecord: Sendable {
    /// Why it was made; the raw value is the record's word.
    package enum Cause: String, Sendable {
        case first, retry, auth, redirect, hedge, resume, revalidate
        case collapseLeader = "collapse-leader"
    }

    /// What was decided on its result; the raw value is the record's word.
    package enum Decision: String, Sendable {
        case deliver, retry, refresh, follow, resume
        case giveUp = "give-up"
    }

    package var cause = Cause.first
    /// Where it went, when a step or a redirect changed the client's URL.
    package var url: String?
    /// Status of the final response; 0 when there was none.
    package var status: UInt16 = 0
    package var error: LupinError?
    package var decision = Decision.deliver
    /// Why, as a sentence for people; empty when the decision needs none.
    package var reason = ""
    /// The address that was connected to.
    package var peer: IPAddress?
    package var peerPort: UInt16 = 0
    package var version: ProtocolVersion?
    /// The stream of the HTTP/2 connection that carried it; nil with HTTP/1.
    package var stream: UInt32?
    /// Why upstream reset that stream, if it did.
    package var reset: HTTP2ErrorCode?
    /// What upstream's GOAWAY said, if one came before the attempt ended.
    package var goAway: HTTP2ErrorCode?
    /// The version of TLS with the origin; nil in clear.
    package var tls: TLSVersion?
    /// The connection came from the pool.
    package var isReused = false
    /// Every byte of the request body could have been sent again.
    package var isReplayable = true
    /// Wait between this attempt and the next.
    package var delayMicroseconds: Int64?
    package var timing = Timing()

    package init() {}
}

/// Where the time went: monotonic, in µs; nil where the phase did not happen or is unknown.
package struct Timing: Sendable {
    /// Waiting inside lupin: queue, pool, token, back-off.
    @Phase package var blocked: Int64?
    @Phase package var dns: Int64?
    @Phase package var tcp: Int64?
    /// The handshake of TLS, judging the certificates included.
    @Phase package var tls: Int64?
    @Phase package var send: Int64?
    /// Last byte of the request to first byte of the response.
    @Phase package var wait: Int64?
    @Phase package var receive: Int64?
    @Phase package var total: Int64?

    package init() {}

    /// A time that may be unknown, in half of the room that an optional takes.
    @propertyWrapper
    package struct Phase: Sendable {
        private var microseconds = Int64.min

        package init() {}

        package var wrappedValue: Int64? {
            get { microseconds == .min ? nil : microseconds }
            set { microseconds = newValue ?? .min }
        }
    }
}

/// What went through a tunnel or an upgraded connection.
package struct TunnelRecord: Sendable {
    /// Who ended it; the raw value is the record's word.
    package enum Closer: String, Sendable {
        case client, upstream
        /// The idle time-out or the stop of lupin.
        case lupin = "proxy"
    }

    /// Client to upstream.
    package var sentBytes: UInt64 = 0
    /// Upstream to client.
    package var receivedBytes: UInt64 = 0
    package var closedBy: Closer?

    package init() {}
}
