// The data that the engine records during an exchange; `RecordFormat` writes it.

/// The record of one exchange.
///
/// Recording is cheap: heads are kept by value (two retains unless they are changed later) and
/// become text only when a line is written. Rare data is kept in a box of its own, so that other
/// records are cheap to move and to destroy.
@usableFromInline package struct ExchangeRecord: Sendable {
    /// How the exchange ended; the raw value is the record's word.
    package enum Outcome: String, Sendable, CaseIterable {
        /// A complete response was delivered, whatever its status.
        case ok
        /// lupin made the response because something failed.
        case error
        /// The client disconnected.
        case aborted
        /// Upstream failed after the head of its response had been forwarded.
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
    /// The scheme, host and port that the client requested.
    package var origin: Origin?
    /// HTTP version on the client's side.
    package var version = ProtocolVersion.http11
    /// The stream of the client's connection that carried the exchange; nil with HTTP/1.
    package var stream: UInt32?
    /// How that stream was reset; nil when both sides ended it normally.
    package var reset: HTTP2Reset?
    /// The final response that the client got; nil when it got none.
    package var response: ResponseHead?
    /// Payload bytes as transferred, without framing; nil when there was no message.
    package var requestBodyBytes: UInt64?
    package var responseBodyBytes: UInt64?

    package var bytes = ByteCounts()
    package var rules = RulesRecord()
    package var attempts: [AttemptRecord] = []
    package var timing = Timing()
    /// The cache's part in it, as in `Cache-Status` (RFC 9211); nil when it had none.
    package var cache: String?
    /// Rare data; nil when the exchange has none.
    @usableFromInline var rare: Box?

    /// The field names and values that the line contains.
    package var headers = LogSettings.Headers.names
    /// Whether `log: off` applies to this exchange.
    package var isLogOff = false

    package init(id: ExchangeID, startMicroseconds: Int64) {
        self.id = id
        self.startMicroseconds = startMicroseconds
    }

    // MARK: Rare data

    @usableFromInline indirect enum Box: Sendable {
        case holding(Rare)
    }

    @usableFromInline struct Rare: Sendable {
        var error: LupinError?
        var tunnel: TunnelRecord?
        var authentication: AuthenticationRecord?
        var standIns: StandInRecord?
        var validation: ValidationRecord?
        var redirects: [RedirectRecord] = []
        var trust: TrustRecord?
        var bypass: BypassRecord?
        var flaws = ResponseFlaws()
        var loginStep: String?
    }

    /// Whether the record may have rare data; what it has costs a call and a copy of the record.
    @inlinable package var hasRare: Bool { rare != nil }

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
    /// The result for the credential that a rule names; nil when no rule names one.
    package var authentication: AuthenticationRecord? {
        get { held?.authentication }
        set { change { $0.authentication = newValue } }
    }
    /// The stand-ins for credentials in the request; nil when it had none.
    package var standIns: StandInRecord? { held?.standIns }

    /// Notes that the stand-in for the token called `name` was exchanged.
    package mutating func note(exchangedStandIn name: String) { note(name, in: \.exchanged) }

    /// Notes that the stand-in for the token called `name` was in a request without its rules.
    package mutating func note(standInElsewhere name: String) { note(name, in: \.elsewhere) }

    private mutating func note(
        _ name: String,
        in list: WritableKeyPath<StandInRecord, [String]>
    ) {
        var standIns = standIns ?? StandInRecord()
        if standIns[keyPath: list].contains(name) { return }
        standIns[keyPath: list].append(name)
        change { $0.standIns = standIns }
    }

    /// The result of `validate:`; nil without conditions.
    package var validation: ValidationRecord? {
        get { held?.validation }
        set { change { $0.validation = newValue } }
    }
    /// Redirects that were followed, in order.
    package var redirects: [RedirectRecord] {
        get { held?.redirects ?? [] }
        set { change { $0.redirects = newValue } }
    }
    /// The verdict on the origin's certificates; nil when lupin doesn't terminate TLS.
    package var trust: TrustRecord? {
        get { held?.trust }
        set { if rare != nil || newValue != nil { change { $0.trust = newValue } } }
    }

    /// Why a tunnel was not intercepted although rules require it; nil without a bypass.
    package var bypass: BypassRecord? {
        get { held?.bypass }
        set { if rare != nil || newValue != nil { change { $0.bypass = newValue } } }
    }

    /// What was wrong with the response that was delivered.
    package var flaws: ResponseFlaws {
        get { held?.flaws ?? ResponseFlaws() }
        set { if rare != nil || !newValue.isEmpty { change { $0.flaws = newValue } } }
    }

    /// The scheme of the client's login that goes on behind this response (``LoginStep``); nil if
    /// it is no step of one.
    package var loginStep: String? {
        get { held?.loginStep }
        set { if rare != nil || newValue != nil { change { $0.loginStep = newValue } } }
    }

    /// The fields of the request's and the response's head.
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

    /// Whether a line must be written: `log: off` only omits outcome `ok`.
    package var isDue: Bool { !isLogOff || outcome != .ok }
}

/// The 128-bit identifier of an exchange.
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

    /// The number of digits shown to users: enough to distinguish the exchanges of a day.
    package static let shortDigits = 8

    /// The first 8 digits, for users; commands accept them as an id.
    package var short: String {
        var bytes: [UInt8] = []
        bytes.append(hex: high >> 32, digits: Self.shortDigits)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The client of an exchange.
package struct ClientRecord: Sendable {
    package var address: IPAddress?
    package var port: UInt16 = 0
    /// Looked up only when a rule or `log: {program: true}` requires it; the client can forge it.
    package var program: String?
    package var pid: Int32?
    /// It knew of no proxy: the kernel led its connection here.
    package var isRedirected = false
    /// The authenticated user, when the listener requires a password.
    package var user: String?
}

/// The reset of a client's HTTP/2 stream.
package struct HTTP2Reset: Sendable, Equatable {
    /// The side that reset it; the raw value is the record's word.
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

/// Bytes on the wire, including framing but not TLS.
package struct ByteCounts: Sendable {
    package var clientIn: UInt64 = 0
    package var clientOut: UInt64 = 0
    package var upstreamOut: UInt64 = 0
    package var upstreamIn: UInt64 = 0

    package init() {}
}

/// The rules that applied to an exchange.
package struct RulesRecord: Sendable {
    /// The `Configuration.version` of the snapshot that the exchange started with.
    package var version = ""
    /// Names of the rules that matched, in file order.
    package var matched: [String] = []
    /// Summaries of the steps that were actually applied to the request.
    package var steps: [String] = []
    /// Those that were applied to the response.
    ///
    /// Apart from the request's: where all of its steps apply, a list is the plan's own.
    package var responseSteps: [String] = []

    package var hasSteps: Bool { !steps.isEmpty || !responseSteps.isEmpty }

    /// Notes what became of further steps, behind those that are noted.
    package mutating func note(_ notes: [String]) {
        if responseSteps.isEmpty { steps += notes } else { responseSteps += notes }
    }
}

/// The result for a credential; never contains the credential itself.
package struct AuthenticationRecord: Sendable, Equatable {
    /// The raw value is the record's word.
    package enum Action: String, Sendable {
        case none, used, refreshed, waited, failed, excessive, missing
    }

    /// The name under `tokens`.
    package var token: String
    /// The number of the credential, counted from 1 for each name; 0 for none.
    package var version = 0
    package var action = Action.none
    package var waitMicroseconds: Int64?

    package init(token: String) { self.token = token }
}

/// The tokens whose stand-ins were in the request.
package struct StandInRecord: Sendable, Equatable {
    /// Those for which the credential was sent.
    package var exchanged: [String] = []
    /// Those that no rule of the request names: the stand-in went as it was, or was refused.
    package var elsewhere: [String] = []

    package init() {}
}

/// The result of `validate:` for a response.
package struct ValidationRecord: Sendable, Equatable {
    /// The condition that does not hold, in words; nil when all hold.
    package var condition: String?
    /// The action for a response that failed.
    package var action: ValidationAction?
    /// What could not be validated; empty for nothing.
    package var note: String

    package init(
        condition: String? = nil,
        action: ValidationAction? = nil,
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
    /// The target URL.
    package var location: String

    package init(status: UInt16, location: String) {
        self.status = status
        self.location = location
    }
}

/// A tunnel that bypassed rules, because its client had refused lupin's certificate.
package struct BypassRecord: Sendable, Equatable {
    /// The record's word for the only reason.
    package static let reason = "client_rejects"

    /// When the client first refused it, in microseconds since 1970.
    package var sinceMicroseconds: Int64
    /// Until when the client's next CONNECT is a tunnel as well.
    package var untilMicroseconds: Int64
    /// The TLS alert with which it refused (RFC 8446 §6).
    package var cause: String

    package init(sinceMicroseconds: Int64, untilMicroseconds: Int64, cause: String) {
        self.sinceMicroseconds = sinceMicroseconds
        self.untilMicroseconds = untilMicroseconds
        self.cause = cause
    }
}

/// One attempt to get a response from upstream.
package struct AttemptRecord: Sendable {
    /// The reason for the attempt; the raw value is the record's word.
    package enum Cause: String, Sendable {
        case first, retry, auth, redirect, hedge, resume, revalidate
        case collapseLeader = "collapse-leader"
    }

    /// The decision about its result; the raw value is the record's word.
    package enum Decision: String, Sendable {
        case deliver, retry, refresh, follow, resume
        case giveUp = "give-up"
    }

    /// Why the request body was not kept for another attempt.
    package enum Unkept: String, Sendable {
        /// It is longer than what the policy or `limits.replay_memory` allows.
        case size
        /// `limits.replay_disk` is used up, or the user's half of it.
        case replayDisk = "replay_disk"
        case diskError = "disk_error"
    }

    package var cause = Cause.first
    /// Its URL, when a step or a redirect changed the client's URL.
    package var url: String?
    /// Status of the final response; 0 when there was none.
    package var status: UInt16 = 0
    package var error: LupinError?
    package var decision = Decision.deliver
    /// The reason for the decision, as a sentence for users; empty when it needs none.
    package var reason = ""
    /// `host:port` of the parent proxy on its way; nil for the direct one.
    package var via: String?
    /// The address of the connection.
    package var peer: IPAddress?
    package var peerPort: UInt16 = 0
    package var version: ProtocolVersion?
    /// The stream of the HTTP/2 connection that carried it; nil with HTTP/1.
    package var stream: UInt32?
    /// The code with which upstream reset that stream, if it did.
    package var reset: HTTP2ErrorCode?
    /// The code of upstream's GOAWAY, if one came before the attempt ended.
    package var goAway: HTTP2ErrorCode?
    /// The version of TLS with the origin; nil without TLS.
    package var tls: TLSVersion?
    /// Whether the connection came from the pool.
    package var isReused = false
    /// Whether every byte of the request body could have been sent again.
    package var isReplayable = true
    /// Why the body was not kept, if it was to be.
    package var unkept: Unkept?
    /// When it began, or its wait did, after the exchange: µs; nil for the first.
    @Timing.Phase package var start: Int64?
    /// The wait between this attempt and the next.
    package var delayMicroseconds: Int64?
    package var timing = Timing()
    /// Its span; nil unless the exchange is traced.
    package var span: AttemptSpan?

    package init() {}
}

/// The phases: monotonic, in µs; nil when a phase did not happen or is unknown.
package struct Timing: Sendable {
    /// Time spent waiting inside lupin: queue, pool, token, back-off.
    @Phase package var blocked: Int64?
    @Phase package var dns: Int64?
    @Phase package var tcp: Int64?
    /// The TLS handshake, including the evaluation of the certificates.
    @Phase package var tls: Int64?
    @Phase package var send: Int64?
    /// Last byte of the request to first byte of the response.
    @Phase package var wait: Int64?
    @Phase package var receive: Int64?
    @Phase package var total: Int64?

    package init() {}

    /// A time that may be unknown, in half the size of an optional.
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

/// The traffic of a tunnel or of an upgraded connection.
package struct TunnelRecord: Sendable {
    /// The side that closed it; the raw value is the record's word.
    package enum Closer: String, Sendable {
        case client, upstream
        /// The idle timeout or lupin's shutdown.
        case lupin = "proxy"
    }

    /// Client to upstream.
    package var sentBytes: UInt64 = 0
    /// Upstream to client.
    package var receivedBytes: UInt64 = 0
    package var closedBy: Closer?
    /// The server name of the TLS inside, as it was sent; nil when there was none, or no TLS.
    package var serverName: String?
    /// The protocols that this TLS offered, the preferred first.
    package var protocols: [String] = []
    /// Whether it offered Encrypted ClientHello.
    package var offeredECH = false

    /// How many offered protocols a record holds: clients offer one or two.
    package static let protocolsMax = 16

    package init() {}
}
