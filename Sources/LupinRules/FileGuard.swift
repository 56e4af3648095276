// Refuses files that other users could change, if they say which credentials requests get, or which
// clients get them: the rules file and those it names.

import LupinPolicy

struct FileGuard {
    let context: DecodingContext

    /// Reports a file of influence, or a folder on its way, that another user may write: with one
    /// more rule, host or certificate, that user would get the credential.
    func check(_ settings: Settings, _ rules: [Rule], in entries: [YAMLNode.Entry]) {
        let key = firstKey(settings, rules)
        if let key, !context.hasRefusedFile,
            let entry = entries.first(where: { $0.key == key }) ?? entries.first
        {
            context.refuse(
                context.surroundings.standings,
                since: "the file says which credentials requests get",
                at: entry
            )
        }
        var told: Set<String> = []
        for (named, location) in context.paths.sorted(by: { $0.named.path < $1.named.path }) {
            guard let say = named.role.say, key != nil || say.isAlwaysGuarded,
                told.insert(named.path).inserted
            else { continue }
            let ways = context.surroundings.openWay(named.path)
            context.refuse(ways, since: "\(named.path) says \(say.what)", at: location)
        }
    }

    /// The section that attaches something.
    private func firstKey(_ settings: Settings, _ rules: [Rule]) -> String? {
        if !settings.tokens.isEmpty { return "tokens" }
        if RuleKey.allAttachments(of: rules).contains(where: \.needsOwnFile)
            || rules.contains(where: { $0.clientCertificate.map { $0 != nil } ?? false })
        {
            return "rules"
        }
        if settings.upstream.tls.clientCertificate != nil { return "upstream" }
        return context.secrets.isEmpty ? nil : ""
    }
}

extension PathRole {
    /// What the content of a file decides, if who writes it could get at the owner's credentials.
    fileprivate struct Say {
        let what: String
        /// Whether that counts in a file that attaches nothing, too.
        var isAlwaysGuarded = false
    }

    fileprivate var say: Say? {
        switch self {
        case .hosts: Say(what: "to whom credentials go")
        case .certificates: Say(what: "who passes for an origin")
        case .certificate, .key: Say(what: "who lupin is in TLS")
        case .authorityKey:
            Say(what: "whose certificates the clients trust", isAlwaysGuarded: true)
        case .users: Say(what: "who may use lupin", isAlwaysGuarded: true)
        case .program: Say(what: "what runs as you", isAlwaysGuarded: true)
        // Who writes it gives values away and gets none.
        case .secret, .cookies, .token, .log: nil
        // lupin makes them, or looks at who may write to them.
        case .authority, .answers, .folder, .socket: nil
        }
    }
}

extension DecodingContext {
    /// Reports each way by which another user could change the rules file.
    func refuseOpenFile(_ reason: String, at location: some DiagnosticLocation) {
        refuse(surroundings.standings, since: reason, at: location)
        hasRefusedFile = true
    }

    /// Reports each way by which another user could change a file; the reason says what it decides.
    func refuse(
        _ standings: [FileStanding],
        since reason: String,
        at location: some DiagnosticLocation
    ) {
        for standing in standings {
            let what = standing.isDirectory ? "the directory \(standing.path)" : standing.path
            if !standing.isOwnedByUserOrRoot {
                let message = "\(reason), and \(what) belongs to another user"
                error(.file, message, at: location, hint: "it must be yours or root's: chown it")
            }
            if standing.isWritableByOthers {
                let message = "\(reason), and others can write to \(what)"
                error(.file, message, at: location, hint: "chmod go-w \(standing.path)")
            }
        }
    }
}
