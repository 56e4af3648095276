// Which of git's settings are known to hold no credential.

import LupinCore

/// The sections and keys that users have; all others are not known to be harmless.
enum GitSettingsTable {
    static func verdict(_ entry: SettingsEntry) -> SettingsVerdict {
        let section = entry.path[0]
        let key = entry.path[1].lowercased()
        // The subsection is a branch, a name or a URL.
        if let name = entry.subsection, !SettingsText.isPlain(name) { return .doubtful }
        if section == "include" || section == "includeif" {
            // The home of another user is not examined.
            let path = entry.value
            let isKnown = key == "path" && (path.hasPrefix("~/") || !path.hasPrefix("~"))
            return isKnown && SettingsText.isPlain(path) ? .include : .doubtful
        }
        return isHarmless(section, key, entry.value) ? .harmless : .doubtful
    }

    private static func isHarmless(_ section: String, _ key: String, _ value: String) -> Bool {
        switch (section, key) {
        // A public key, or its number, is as long as a token.
        case ("user", "signingkey"): return !value.contains("://") && !value.contains("PRIVATE")
        case ("alias", _): return SettingsText.isHarmless(value)
        case ("core", "sshcommand"): return GitCommands.isHarmless(ssh: value)
        case ("core", "askpass"): return GitCommands.isProgram(value)
        case ("core", "gitproxy"): return false
        case ("credential", "helper"): return GitCommands.isHarmless(helper: value)
        case ("http", "proxy"), ("https", "proxy"), ("remote", "proxy"):
            return SettingsText.isPlain(value) && !value.contains("@")
        default: break
        }
        if let known = keys[section] { return known.contains(key) && SettingsText.isPlain(value) }
        return sections.contains(section) && !SettingsText.namesSecret(key)
            && (SettingsText.isHarmless(value) || GitCommands.isProgram(value))
    }

    /// Sections of which these keys alone are known: their neighbours hold credentials.
    private static let keys: [String: Set<String>] = [
        "user": ["name", "email", "useconfigonly", "username"],
        "author": ["name", "email"], "committer": ["name", "email"],
        "url": ["insteadof", "pushinsteadof"],
        "remote": [
            "url", "pushurl", "fetch", "push", "prune", "prunetags", "tagopt", "mirror",
            "pushdefault",
            "skipdefaultupdate", "skipfetchall", "promisor", "partialclonefilter",
            "followremotehead",
            "gh-resolved",
        ],
        "http": http, "https": http,
        "credential": [
            "username", "usehttppath", "provider", "credentialstore", "namespace", "interactive",
            "guiprompt", "gitlabauthmodes", "githubauthmodes", "bitbucketauthmodes", "authority",
            "allowwindowsauth", "autodetecttimeout", "cacheoptions", "azreposcredentialtype",
            "msauthflow", "msauthusebroker", "protectprotocol", "sanitizeprompt",
        ],
        "sendemail": [
            "smtpserver", "smtpserverport", "smtpencryption", "smtpuser", "smtpdomain", "smtpauth",
            "smtpsslcertpath", "from", "to", "cc", "bcc", "confirm", "envelopesender", "suppresscc",
            "suppressfrom", "signedoffbycc", "thread", "chainreplyto", "annotate", "multiedit",
            "validate", "transferencoding", "xmailer", "assume8bitencoding", "aliasesfile",
            "aliasfiletype", "identity", "composeencoding", "forbidsendmailvariables",
        ],
        "github": ["user", "host"], "gitlab": ["user", "host"], "hub": ["protocol", "host"],
        "ghq": ["root", "vcs", "user"], "gitreview": ["username", "remote"],
        "svn": ["rmdir", "edit"],
    ]
    private static let http: Set<String> = [
        "sslverify", "sslcainfo", "sslcapath", "sslbackend", "sslversion", "sslcipherlist",
        "sslcert",
        "sslkey", "ssltry", "sslcertpasswordprotected", "schannelcheckrevoke",
        "schannelusesslcainfo",
        "pinnedpubkey", "proxysslcainfo", "proxyauthmethod", "postbuffer", "version", "useragent",
        "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "followredirects",
        "emptyauth",
        "delegation", "noepsv", "curloptresolve", "cookiefile", "savecookies", "keepaliveidle",
        "keepaliveinterval", "keepalivecount", "proactiveauth",
    ]
    /// Sections without credentials, whatever the key.
    private static let sections: Set<String> = [
        "absorb", "add", "advice", "am", "apply", "attr", "blame", "branch", "browser", "checkout",
        "clean", "clone", "color", "column", "commit", "commitgraph", "completion", "core", "delta",
        "diff", "diff-so-fancy", "difftool", "extensions", "feature", "fetch", "filter", "format",
        "fsck", "fsmonitor", "gc", "gitflow", "gitk", "gpg", "grep", "gui", "guitool", "help",
        "i18n", "index", "init", "interactive", "lfs", "log", "lsrefs", "magit", "mailinfo",
        "mailmap", "maintenance", "man", "merge", "mergetool", "notes", "oh-my-zsh", "pack",
        "pager", "pretty", "protocol", "pull", "push", "rebase", "receive", "repack", "rerere",
        "reset", "revert", "safe", "scalar", "sequence", "showbranch", "splitindex", "ssh", "stash",
        "status", "submodule", "switch", "tag", "tar", "tig", "trailer", "transfer",
        "uploadarchive",
        "uploadpack", "versionsort", "web", "worktree",
    ]
}
