// Every row of the settings table: its default, its words, the ends of its range and what lies
// beyond, and the place that its value goes to.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct SettingsTableTests {
    private typealias Plain = (setting: Setting, keyPath: ValueKeyPath<Settings>)

    /// What lies at a place.
    private enum Value: Equatable {
        case duration(Duration), number(Int), truth(Bool), count(RateLimit), word(String), nothing
    }

    private static let available = SettingsTable.settings.filter(\.isAvailable)

    private static let plain: [Plain] = available.compactMap { setting in
        guard case .plain(let keyPath) = setting.destination else { return nil }
        return (setting, keyPath)
    }

    /// The rules file in which `name` has that value, with more in its section.
    private func body(_ name: String, _ value: String, beside company: String = "") -> String {
        var parts = name.split(separator: ".").map(String.init)
        let last = parts.removeLast()
        guard let first = parts.first else { return "\(last): \(value)" }
        let inner = "{\(company)\(last): \(value)}"
        return "\(first): " + parts.dropFirst().reversed().reduce(inner) { "{\($1): \($0)}" }
    }

    // MARK: Values

    private func value<Root>(at keyPath: ValueKeyPath<Root>, in root: Root) -> Value {
        switch keyPath {
        case .duration(let path): .duration(root[keyPath: path])
        case .durationOrWord(let path): root[keyPath: path].map { .duration($0) } ?? .nothing
        case .number(let path): .number(root[keyPath: path])
        case .numberOrWord(let path): root[keyPath: path].map { .number($0) } ?? .nothing
        case .boolean(let path): .truth(root[keyPath: path])
        case .count(let path): .count(root[keyPath: path])
        case .choice(let read, _): .word(read(root))
        }
    }

    private func restore<Root>(
        _ keyPath: ValueKeyPath<Root>,
        in root: inout Root,
        from defaults: Root
    ) {
        switch keyPath {
        case .duration(let path): root[keyPath: path] = defaults[keyPath: path]
        case .durationOrWord(let path): root[keyPath: path] = defaults[keyPath: path]
        case .number(let path): root[keyPath: path] = defaults[keyPath: path]
        case .numberOrWord(let path): root[keyPath: path] = defaults[keyPath: path]
        case .boolean(let path): root[keyPath: path] = defaults[keyPath: path]
        case .count(let path): root[keyPath: path] = defaults[keyPath: path]
        case .choice(let read, let write): write(&root, read(defaults))
        }
    }

    /// The ends of the range and all words, with what they mean.
    private func samples<Root>(
        _ setting: Setting,
        _ keyPath: ValueKeyPath<Root>
    ) -> [(text: String, value: Value)] {
        var nothing = Value.nothing
        if case .number = keyPath { nothing = .number(0) }
        switch setting.kind {
        case .duration(let range, let orNone):
            return [range.lowerBound, range.upperBound].map {
                (UnitText.duration($0), .duration(.milliseconds($0)))
            } + (orNone ? [("none", nothing)] : [])
        case .size(let range, let word):
            return [range.lowerBound, range.upperBound].map { (UnitText.size($0), .number($0)) }
                + (word.map { [($0, nothing)] } ?? [])
        case .number(let range, let word):
            return [range.lowerBound, range.upperBound].map { ("\($0)", .number($0)) }
                + (word.map { [($0, nothing)] } ?? [])
        case .boolean:
            return [("true", .truth(true)), ("false", .truth(false))]
        case .choice(let words):
            return words.map { ("\"\($0)\"", .word($0)) }
        case .rate:
            return [("1/s", .number(1)), ("5MiB/s", .number(5 << 20)), ("none", nothing)]
        case .count(let counts, let times):
            return [
                (counts.lowerBound, times.lowerBound), (counts.upperBound, times.upperBound),
            ].map { count, time in
                let limit = RateLimit(count: count, per: .milliseconds(time))
                return ("\(count)/\(UnitText.duration(time))", .count(limit))
            }
        case .text, .list, .map:
            Issue.record("\(setting.name) is no plain setting")
            return []
        }
    }

    /// What the setting refuses, with the code of the problem.
    private func refused(_ kind: Setting.Kind) -> [(text: String, code: Diagnostic.Code)] {
        var texts: [String] = []
        switch kind {
        case .duration(let range, _):
            texts = [range.lowerBound - 1, range.upperBound + 1].map { "\($0)ms" }
        case .size(let range, _):
            // One unit more: the largest have no room for a byte more.
            let most = UnitText.size(range.upperBound)
            let digits = most.prefix(while: \.isNumber)
            let more = (Int(digits) ?? 0) + 1
            texts = ["\(range.lowerBound - 1)B", "\(more)\(most[digits.endIndex...])"]
        case .number(let range, _):
            texts = [range.lowerBound - 1, range.upperBound + 1].map { "\($0)" }
        case .count(let counts, let times):
            texts =
                [counts.lowerBound - 1, counts.upperBound + 1].map { "\($0)/10s" }
                + [times.lowerBound - 1, times.upperBound + 1].map { "10/\($0)ms" }
        case .boolean: return [("yes", .type), ("0", .type)]
        case .choice: return [("nonsense", .name)]
        case .rate: return [("0/s", .type), ("64", .type)]
        case .text, .list, .map: return []
        }
        return texts.map { ($0, $0 == "-1B" || $0 == "-1ms" ? .type : .range) }
    }

    // MARK: Rows

    @Test func `a default that is written is the default`() throws {
        for setting in Self.available where setting.name != Setting.Special.version.rawValue {
            let settings = try configuration(body(setting.name, setting.defaultText)).settings
            #expect(settings == Settings(), "\(setting.name)")
        }
    }

    @Test func `every plain value arrives at its place, and nowhere else`() throws {
        #expect(Self.plain.count >= 40)
        for row in Self.plain {
            // A response is no larger than the whole store.
            let company = row.setting.name == "cache.store.max_object" ? "memory: 1TiB, " : ""
            for sample in samples(row.setting, row.keyPath) {
                let text = body(row.setting.name, sample.text, beside: company)
                var settings = try configuration(text).settings
                #expect(value(at: row.keyPath, in: settings) == sample.value, "\(text)")
                restore(row.keyPath, in: &settings, from: Settings())
                settings.cacheStore.memoryBytes = CacheStoreSettings().memoryBytes
                #expect(settings == Settings(), "\(text)")
            }
        }
    }

    @Test func `every timeout arrives at its place, and in a rule if one may have it`() throws {
        for row in TimeoutTable.rows {
            for sample in samples(row.setting, row.keyPath) {
                let text = body(row.setting.name, sample.text)
                expect(try configuration(text).settings.timeouts, row, sample.value, text)
                let rule = "rules: [{match: {}, \(text)}]"
                guard row.setting.isPerRule else {
                    #expect(decode(rule).errors.map(\.code) == [.key], "\(rule)")
                    continue
                }
                let overrides = try #require(try configuration(rule).rules.rules.first).timeouts
                expect(Timeouts().applying(overrides), row, sample.value, rule)
            }
        }
    }

    /// Expects the value at the place of `row`, and defaults elsewhere.
    private func expect(
        _ timeouts: Timeouts,
        _ row: TimeoutRow,
        _ value: Value,
        _ text: String
    ) {
        #expect(self.value(at: row.keyPath, in: timeouts) == value, "\(text)")
        var others = timeouts
        restore(row.keyPath, in: &others, from: Timeouts())
        #expect(others == Timeouts(), "\(text)")
    }

    @Test func `every plain value of a retry policy arrives at its place`() throws {
        for key in RetryKeyTable.keys {
            guard case .plain(let keyPath) = key.destination else { continue }
            for sample in samples(key.setting, keyPath) {
                let text = "retry: {mine: {\(key.setting.key): \(sample.text)}}"
                var policy = try #require(try configuration(text).settings.retry.first)
                #expect(value(at: keyPath, in: policy) == sample.value, "\(text)")
                restore(keyPath, in: &policy, from: .standard)
                #expect(policy == RetryPolicy(name: "mine"), "\(text)")
            }
        }
    }

    @Test func `every plain value of a cache policy arrives at its place`() throws {
        for key in CacheKeyTable.keys {
            guard case .plain(let keyPath) = key.destination else { continue }
            for sample in samples(key.setting, keyPath) {
                let text = "cache: {mine: {\(key.setting.key): \(sample.text)}}"
                var policy = try #require(try configuration(text).settings.cache.last)
                #expect(value(at: keyPath, in: policy) == sample.value, "\(text)")
                restore(keyPath, in: &policy, from: .standard)
                #expect(policy == CachePolicy(name: "mine"), "\(text)")
            }
        }
    }

    @Test func `what lies beyond a range is refused, and words that are none`() {
        for setting in Self.plain.map(\.setting) + TimeoutTable.settings {
            for sample in refused(setting.kind) {
                let text = body(setting.name, sample.text)
                #expect(decode(text).errors.map(\.code) == [sample.code], "\(text)")
            }
        }
    }

    @Test func `no two rows have one place`() {
        let paths = Self.plain.compactMap { row -> AnyKeyPath? in
            switch row.keyPath {
            case .duration(let path): path
            case .durationOrWord(let path): path
            case .number(let path): path
            case .numberOrWord(let path): path
            case .boolean(let path): path
            case .count(let path): path
            case .choice: nil
            }
        }
        #expect(Set(paths).count == paths.count)
    }

    @Test func `every key goes somewhere, and every decoder has a key`() {
        let names = SettingsTable.settings.map(\.name)
        for special in Setting.Special.allCases {
            #expect(names.contains(special.rawValue))
        }
        for key in Setting.ListenerKey.allCases {
            #expect(names.contains("listen.\(key.rawValue)"))
        }
        for special in RetryPolicy.SpecialKey.allCases {
            #expect(RetryKeyTable.policy.contains { $0.name == special.rawValue })
        }
        for special in CachePolicy.SpecialKey.allCases {
            #expect(names.contains(special.rawValue))
        }
        for setting in Self.available where setting.section != "cache.standard" {
            if case .nowhere = setting.destination { Issue.record("\(setting.name) goes nowhere") }
        }
    }

    // MARK: Values with decoders of their own

    /// A value other than the default; nil where settings do not hold it.
    private func other(_ special: Setting.Special) -> String? {
        switch special {
        // A server needs a key besides, see CacheErrorTests.
        case .version, .trust, .sharedServer, .execVariables: nil
        case .clients: "[10.0.0.0/8]"
        case .credentials: "any"
        case .connectPorts, .opaquePorts: "[443, 8000-8999]"
        case .denyTargets, .noProxy: "[]"
        case .upstreamProxy: "http://p.example:3128"
        case .offeredProtocols: "[http/1.1]"
        case .trustAnchors: "cert.pem"
        case .clientCertificate: "{cert: cert.pem, key: key.pem}"
        case .neverDecrypted: "[\"*.bank.example\"]"
        case .authorityCertificate: "/x/ca.pem"
        case .authorityKey: "/x/ca.key"
        case .tokens: "{a: {bearer: 12345678}}"
        case .retry: "{mine: {limit: 1}}"
        case .cachePath: "/var/cache/x"
        case .sharedKey: "0123456789abcdef0123456789abcdef"
        case .logDestination: "stderr"
        case .logHeaders: "all"
        case .redactedHeaders: "[\"*-token\"]"
        case .redactedParameters: "[code]"
        case .redactedMembers: "[pin]"
        case .capturePath: "/var/lib/x"
        case .tapeIgnored: "[query.ts, body]"
        case .tapeMatched: "[header.Accept]"
        case .telemetryURL: "http://127.0.0.1:4318"
        case .telemetryHeaders: "{api-key: abcdef}"
        case .telemetryTraces: "50%"
        case .telemetryMetrics: "30s"
        case .telemetryPrometheus: "127.0.0.1:9464"
        case .adminSocket: "off"
        case .adminHTTP: "{address: 127.0.0.1:9090, token: 0123456789abcdef}"
        }
    }

    @Test(arguments: Setting.Special.allCases)
    func `every other value changes the settings`(special: Setting.Special) throws {
        guard let value = other(special) else { return }
        let result = decode(body(special.rawValue, value), files: SampleFile.all)
        #expect(result.errors.report() == "")
        #expect(try #require(result.configuration).settings != Settings())
    }

    @Test func `a change needs a restart where its own row says so, and nowhere else`() throws {
        let demanding = Self.available.filter { $0.demandsRestart != nil }
        #expect(demanding.count >= 7)
        for setting in Self.available {
            let text: String? =
                switch setting.destination {
                case .plain(let keyPath):
                    samples(setting, keyPath).map(\.text).first { $0 != setting.defaultText }
                case .timeouts(let keyPath): samples(setting, keyPath).first?.text
                case .special(let special): other(special)
                case .listener, .nowhere: nil
                }
            guard let text else { continue }
            let result = decode(body(setting.name, text), files: SampleFile.all)
            let changed = try #require(result.configuration, "\(setting.name)").settings
            let told = demanding.filter { $0.demandsRestart?(Settings(), changed) ?? false }
            let expected = demanding.map(\.name).filter { $0 == setting.name }
            #expect(told.map(\.name) == expected, "\(setting.name)")
        }
    }

    @Test(arguments: [
        ("workers: 2", "3:1: a change of workers"),
        (
            "admin: {http: {address: 127.0.0.1:0, token: 0123456789abcdef}, history: 6}",
            "3:64: a change of admin.history"
        ),
        // What is gone stands nowhere: its section, or the file.
        ("admin: {}", "3:1: a change of admin.history"),
        ("", " a change of admin.history"),
    ])
    func `what needs a restart is told with its place`(body: String, sentence: String) throws {
        let former = try configuration("admin: {history: 5}\nlog: off")
        let told = try configuration("\n\(body)").restartDemands(after: former)
        #expect(told.contains("lupin.yaml:\(sentence) needs a restart"), "\(told)")
        #expect(former.restartDemands(after: former) == [])
    }

    private func other(_ key: Setting.ListenerKey) -> String {
        switch key {
        case .address: "127.0.0.1:9"
        case .protocols: "[h1]"
        case .tls: "{cert: cert.pem, key: key.pem}"
        case .authentication: "{basic: {file: htpasswd}}"
        }
    }

    @Test(arguments: Setting.ListenerKey.allCases)
    func `every value of a listener changes it`(key: Setting.ListenerKey) throws {
        let result = decode("listen: [{\(key.rawValue): \(other(key))}]", files: SampleFile.all)
        #expect(result.errors.report() == "")
        #expect(try #require(result.configuration).settings != Settings())
    }
}
