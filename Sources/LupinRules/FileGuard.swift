// Refuses a rules file that others could change, if it says which credentials requests get.

import LupinCore

struct FileGuard {
    let context: DecodingContext

    /// Reports a file that attaches something, or a folder on its way, that another user may write:
    /// with one more rule, the credential would go to that user.
    func check(_ settings: Settings, _ rules: [Rule], in entries: [YAMLNode.Entry]) {
        guard !context.surroundings.standings.allSatisfy(\.isOwn) else { return }
        let command = settings.tokens.contains { token in
            if case .command = token.source { true } else { false }
        }
        // The decoder of tokens reports those that run programs, in their places.
        if command || context.hasRefusedFile { return }
        guard let key = firstKey(settings, rules),
            let entry = entries.first(where: { $0.key == key }) ?? entries.first
        else { return }
        context.refuseOpenFile("the file says which credentials requests get", at: entry)
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

extension DecodingContext {
    /// Reports each way by which another user could change the rules file.
    func refuseOpenFile(_ reason: String, at place: some DiagnosticPlace) {
        for standing in surroundings.standings {
            let what = standing.isDirectory ? "the directory \(standing.path)" : standing.path
            if !standing.isOwnedByUserOrRoot {
                let message = "\(reason), and \(what) belongs to another user"
                error(.file, message, at: place, hint: "it must be yours or root's: chown it")
            }
            if standing.isWritableByOthers {
                let message = "\(reason), and others can write to \(what)"
                error(.file, message, at: place, hint: "chmod go-w \(standing.path)")
            }
        }
        hasRefusedFile = true
    }
}
