// Where the value of a setting goes: most are plain, and the table says where; the others have
// decoders of their own.

package import LupinCore

/// Where a plain value lies in `Root`.
package enum ValueKeyPath<Root>: Sendable {
    package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable

    case duration(Path<Duration>)
    /// nil stands for the word.
    case durationOrWord(Path<Duration?>)
    /// A count or bytes; 0 stands for the word, where there is one.
    case number(Path<Int>)
    /// nil stands for the word.
    case numberOrWord(Path<Int?>)
    case boolean(Path<Bool>)
    case count(Path<RateLimit>)
    /// By the words of the file.
    case choice(
        read: @Sendable (Root) -> String,
        write: @Sendable (inout Root, String) -> Void
    )
}

extension ValueKeyPath {
    /// The place of one of a few words.
    static func word<Word: SettingWord>(_ path: Path<Word>) -> Self {
        .choice(
            read: { $0[keyPath: path].word },
            write: { root, word in
                if let value = Word(word: word) { root[keyPath: path] = value }
            }
        )
    }

    /// Its key path; nil where the value is one of a few words.
    var path: PartialKeyPath<Root>? {
        switch self {
        case .duration(let path): path
        case .durationOrWord(let path): path
        case .number(let path): path
        case .numberOrWord(let path): path
        case .boolean(let path): path
        case .count(let path): path
        case .choice: nil
        }
    }

    /// Copies the value that lies there from one root to another.
    func copy(from source: Root, to target: inout Root) {
        switch self {
        case .duration(let path): target[keyPath: path] = source[keyPath: path]
        case .durationOrWord(let path): target[keyPath: path] = source[keyPath: path]
        case .number(let path): target[keyPath: path] = source[keyPath: path]
        case .numberOrWord(let path): target[keyPath: path] = source[keyPath: path]
        case .boolean(let path): target[keyPath: path] = source[keyPath: path]
        case .count(let path): target[keyPath: path] = source[keyPath: path]
        case .choice(let read, let write): write(&target, read(source))
        }
    }

    /// The value in `root` as the file writes it.
    package func text(in root: Root, _ kind: Setting.Kind) -> String {
        switch self {
        case .duration(let path):
            return Self.text(root[keyPath: path])
        case .durationOrWord(let path):
            return root[keyPath: path].map(Self.text) ?? kind.word ?? ""
        case .number(let path):
            let value = root[keyPath: path]
            if value == 0, let word = kind.word { return word }
            return Self.text(value, kind)
        case .numberOrWord(let path):
            return root[keyPath: path].map { Self.text($0, kind) } ?? kind.word ?? ""
        case .boolean(let path):
            return "\(root[keyPath: path])"
        case .count(let path):
            let limit = root[keyPath: path]
            return "\(limit.count)/\(Self.text(limit.per))"
        case .choice(let read, _):
            let word = read(root)
            // What would be a number otherwise.
            let isNumber = word.utf8.allSatisfy { $0.isASCIIDigit || $0 == 0x2E }
            return isNumber ? "\"\(word)\"" : word
        }
    }

    /// Nothing and a single minute in seconds: waits of about that length are compared in them.
    private static func text(_ time: Duration) -> String {
        [.zero, .seconds(60)].contains(time)
            ? "\(time.components.seconds)s" : UnitText.duration(time.milliseconds)
    }

    private static func text(_ number: Int, _ kind: Setting.Kind) -> String {
        switch kind {
        case .size: UnitText.size(number)
        case .rate: "\(UnitText.size(number))/s"
        default: "\(number)"
        }
    }
}

extension Setting.Kind {
    /// What may stand there in place of a value.
    var word: String? {
        switch self {
        case .duration(_, let orNone): orNone ? "none" : nil
        case .size(_, let word), .number(_, let word): word
        case .rate: "none"
        default: nil
        }
    }
}

extension Setting {
    /// Where the value goes.
    package enum Destination: Sendable {
        /// What is decoded by its kind alone.
        case plain(ValueKeyPath<Settings>)
        /// The same for what rules may have as well.
        case timeouts(ValueKeyPath<Timeouts>)
        case special(Special)
        case listener(ListenerKey)
        /// Not into `Settings`: a key of a policy, whose table has the place, of a step, or of a
        /// later version.
        case nowhere
    }

    /// The settings with decoders of their own, by their names in the file.
    package enum Special: String, Sendable, CaseIterable {
        case version = "lupin"
        case clients = "access.clients"
        case credentials = "access.credentials"
        case connectPorts = "access.connect_ports"
        case opaquePorts = "access.opaque_ports"
        case denyTargets = "access.deny_targets"
        case upstreamProxy = "upstream.proxy"
        case noProxy = "upstream.no_proxy"
        case offeredProtocols = "upstream.tls.alpn"
        case trustAnchors = "upstream.tls.roots"
        case clientCertificate = "upstream.tls.client_cert"
        case neverDecrypted = "intercept.except"
        case authorityCertificate = "intercept.ca.cert"
        case authorityKey = "intercept.ca.key"
        case tokens
        case retry
        case trust
        case cachePath = "cache.store.path"
        case sharedServer = "cache.store.shared.url"
        case sharedKey = "cache.store.shared.key"
        case logDestination = "log.to"
        case logHeaders = "log.headers"
        case redactedHeaders = "log.redact.headers"
        case redactedParameters = "log.redact.query"
        case redactedMembers = "log.redact.json"
        case capturePath = "capture.path"
        case tapeIgnored = "tape.ignore"
        case tapeMatched = "tape.match"
        case execVariables = "exec.env"
        case telemetryURL = "telemetry.otlp.url"
        case telemetryHeaders = "telemetry.otlp.headers"
        case telemetryTraces = "telemetry.otlp.traces"
        case telemetryMetrics = "telemetry.otlp.metrics"
        case telemetryPrometheus = "telemetry.prometheus.listen"
        case adminSocket = "admin.socket"
        case adminHTTP = "admin.http"
    }

    /// The keys of a listener; there may be several, so that none has one place for its value.
    package enum ListenerKey: String, Sendable, CaseIterable {
        case address, protocols, tls
        case authentication = "auth"
    }
}

/// What a key that a section has in common with rules is in a rule.
package enum RuleLeaf: Sendable {
    case timeout(ValueKeyPath<Timeouts>)
    case logLevel, logHeaders
    /// Of a later version.
    case logBodies
}
