// What the rules do to a request, computed from the rules file alone, without any network.
import LupinConsole
import LupinCore
import LupinPolicy
import LupinRecords
import LupinRules

/// The content of `lupin explain`.
struct Explanation {
    /// A setting that applies to the request, as the file writes it.
    struct SettingValue {
        var name: String
        var text: String
        /// nil for a default.
        var line: Int?
        /// Whether to print it even when most settings are left out.
        var isKey: Bool
    }

    let configuration: Configuration
    let written: WrittenFile?
    let result: DryRunResult
    let verdicts: [RuleVerdict]
    let keys: [EffectiveKey]
    /// The past exchange that the request is from; nil for a request of the command line.
    let record: RecordedExchange?
    /// Clients for which a running lupin currently tunnels the host.
    var bypasses: [RunningBypass] = []
    /// What a running lupin knows of the origin; nil where none runs.
    var health: RunningOrigin?
    /// Until when a running lupin compresses no body for the origin; nil where it does.
    var uncompressedUntil: Int64?
    /// Until when a running lupin offers clients of the origin HTTP/1.1 alone; nil if it does not.
    var http1Until: Int64?
    let checks: [DryRunResult.Check]
    private(set) var settings: [SettingValue] = []
    private let redactor: Redactor

    init(
        _ request: ExplainedRequest,
        _ configuration: Configuration,
        _ written: WrittenFile?,
        record: RecordedExchange? = nil
    ) {
        self.record = record
        self.configuration = configuration
        self.written = written
        let dryRun = DryRun(configuration, labels: written?.rules.map(\.labels) ?? [])
        redactor = dryRun.redactor
        result = dryRun.result(for: request)
        verdicts = dryRun.rules.verdicts(for: result.subject, redactor: redactor)
        keys = dryRun.rules.effectiveKeys(of: result.plan, for: result.subject)
        checks = result.checks
        settings = makeSettings()
    }

    var rules: [Rule] { configuration.rules.rules }
    var request: ExplainedRequest { result.request }
    var entry: DryRunResult.Entry { result.entry }
    var plan: Plan { result.plan }
    var preview: RequestPreview? { result.preview }
    var finalOrigin: Origin { result.finalOrigin }
    var parent: ParentProxy? { result.parent }
    var answer: CannedResponse? { result.answer }
    var isPurge: Bool { result.isPurge }
    var judgesNames: Bool { result.judgesNames }
    var lateProxyRule: String? { result.lateProxyRule }

    // MARK: Where it goes

    /// The credentials that lupin attaches to the request.
    var attachments: Attachments {
        Attachments(
            of: plan,
            defaultCertificate: configuration.settings.upstream.tls.clientCertificate,
            at: finalOrigin,
            by: parent,
            version: configuration.version
        )
    }

    /// Formats fields; the values of sensitive ones are redacted.
    func shown(_ fields: [(name: String, value: String)]) -> [String] {
        return fields.map { name, value in
            let isHidden = redactor.hides(
                field: name.utf8Span.span,
                value.utf8Span.span,
                known: .other
            )
            let shown = isHidden ? "REDACTED" : redactor.cleaned(value)
            return "\(name): \(shown.replacing("REDACTED.0000", with: "REDACTED"))"
        }
    }

    /// The name of the trust policy for the origin; nil without TLS to it.
    var trustName: String? {
        guard finalOrigin.scheme == .https, entry.showsRequest else { return nil }
        return (plan.trust ?? .system).name
    }

    /// The text of a key of a rule as the file writes it.
    func text(of key: EffectiveKey) -> String {
        guard let written, written.rules.indices.contains(key.rule) else { return "" }
        return written.rules[key.rule].value(of: key.key)?.text ?? ""
    }

    /// `lupin.yaml:12`.
    func location(_ line: Int) -> String {
        let name = configuration.fileName?.split(separator: "/").last ?? "rules"
        return "\(name):\(line)"
    }
}

// MARK: Settings

extension Explanation {
    /// Sections and settings that apply to a single request.
    private static let sections = [
        "intercept", "log", "timeouts", "upstream", "upstream.dns", "upstream.pool", "upstream.tls",
    ]
    private static let usual: Set<String> = [
        "log.to", "timeouts.connect", "timeouts.idle", "timeouts.response_header",
        "timeouts.total", "upstream.proxy",
    ]

    private func makeSettings() -> [SettingValue] {
        // A setting that a rule overrides is listed among the rule's keys.
        let set = Set(keys.filter { $0.part == .holds }.map(\.key))
        var values: [SettingValue] = SettingsTable.settings.compactMap { setting in
            let isOurs = Explanation.sections.contains(setting.section)
            guard setting.isAvailable, isOurs, !set.contains(setting.name),
                setting.name != "upstream.proxy" || plan.proxy == nil
            else { return nil }
            let own = written?.settings[setting.name]
            return SettingValue(
                name: setting.name,
                text: own?.text ?? setting.defaultText,
                line: own?.line,
                isKey: own != nil || Explanation.usual.contains(setting.name)
            )
        }
        if let location = configuration.settingPlaces["log"], configuration.settings.log.to == .off
        {
            values.removeAll { $0.name.hasPrefix("log.") }
            values.append(SettingValue(name: "log", text: "off", line: location.line, isKey: true))
        }
        if trustName != nil, plan.trust == nil {
            values.append(SettingValue(name: "trust", text: "system", line: nil, isKey: true))
        }
        return values
    }
}
