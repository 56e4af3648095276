// Which settings of the home a confined command misses, and which programs look for them.

/// A setting that is absent inside, and what it is for.
package struct MissedSettings: Sendable {
    /// Its path below the home.
    package let name: String
    /// The tool, for users.
    package let tool: String
    /// The programs that read it.
    private let programs: Set<String>

    private init(_ name: String, _ tool: String, _ programs: Set<String>) {
        self.name = name
        self.tool = tool
        self.programs = programs
    }

    package func isRead(byAnyOf others: Set<String>) -> Bool { !programs.isDisjoint(with: others) }

    /// The table; `lupin doctor` tells all of it that is there.
    package static let all = [
        Self(".npmrc", "npm", ["npm", "npx", "pnpm", "yarn", "bun"]),
        Self(".config/pip", "pip", pip), Self(".pip", "pip", pip),
        Self(".netrc", "curl and git", pip.union(["curl", "git", "wget", "go", "ftp"])),
        Self(".git-credentials", "git", ["git"]), Self(".ssh", "ssh and git", ssh),
        Self(".pypirc", "twine", ["twine"]), Self(".m2/settings.xml", "Maven", ["mvn", "mvnw"]),
        Self(".gradle/gradle.properties", "Gradle", ["gradle", "gradlew"]),
        Self(".cargo/credentials.toml", "cargo", ["cargo"]),
        Self(".docker", "docker", ["docker", "docker-compose", "buildah", "skopeo", "crane"]),
        Self(".aws", "aws", ["aws", "sam", "cdk", "terraform"]),
        Self(".kube", "kubectl", ["kubectl", "helm", "k9s"]), Self(".config/gh", "gh", ["gh"]),
        Self(".config/gcloud", "gcloud", ["gcloud", "gsutil", "bq"]),
        Self(".gnupg", "gpg and git", ["gpg", "gpgv", "git"]), Self(".curlrc", "curl", ["curl"]),
        Self(".wgetrc", "wget", ["wget"]), Self(".yarnrc.yml", "yarn", ["yarn"]),
        Self(".condarc", "conda", ["conda", "mamba"]),
        Self(".bundle/config", "bundler", ["bundle", "bundler"]),
        Self(".claude", "Claude Code", claude), Self(".claude.json", "Claude Code", claude),
        Self(".codex", "Codex", ["codex"]), Self(".gemini", "Gemini CLI", ["gemini"]),
        Self(".config/opencode", "opencode", ["opencode"]),
        Self(".aider.conf.yml", "aider", ["aider"]), Self(".config/goose", "goose", ["goose"]),
    ]

    private static let pip: Set = ["pip", "uv", "uvx", "pipx", "poetry", "pipenv"]
    private static let ssh: Set = ["ssh", "scp", "sftp", "rsync", "sshfs", "git", "mosh"]
    private static let claude: Set = ["claude", "claude-code"]

    /// Programs that run what their words say.
    private static let launchers: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "sudo", "doas", "nice",
        "ionice", "nohup", "timeout", "time", "stdbuf", "setsid", "xargs", "watch", "strace",
        "python", "npx", "bunx", "uvx", "pipx",
    ]

    /// The programs that a command names: its own, and all words where that one runs others.
    package static func programs(namedIn command: [String]) -> Set<String> {
        guard let first = command.first else { return [] }
        let own = program(first[...])
        guard launchers.contains(own) else { return [own] }
        let words = command.flatMap { word in
            word.split { !$0.isLetter && !$0.isNumber && !"-._/".contains($0) }
        }
        return Set(words.map(program))
    }

    /// Without its folder and the version behind it: `pip` of `/usr/bin/pip3.12`.
    private static func program(_ word: Substring) -> String {
        var name = word.split(separator: "/").last ?? word
        while let last = name.last, last.isNumber || last == "." { name.removeLast() }
        return String(name)
    }
}
