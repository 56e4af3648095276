// What of a home a confined command sees of that which begins with a dot, or keeps secrets.

import LupinCore

/// How much of the user's home a confined command sees: `--home`.
package enum HomeMode: String, Sendable, CaseIterable {
    /// Nothing; what it writes there is dropped.
    case `private`
    /// All but what begins with a dot, and that by `HomeTable`; read-only.
    case readOnly = "read-only"
    /// All, and what it writes stays.
    case shared
}

/// The entries of a home that begin with a dot and that tools need; all others are absent.
package enum HomeTable {
    /// Programs, and settings that hold no secrets.
    package static let shown = [
        // Terminals and editors. What shells run at their start sets keys of APIs, too.
        ".inputrc", ".dircolors", ".terminfo", ".hushlogin", ".editorconfig", ".vimrc",
        ".config/starship.toml",
        // git
        ".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".gitattributes",
        ".git-templates",
        // Programs that were installed for one user.
        ".local/bin", ".local/lib", ".local/share/man", ".local/share/bash-completion",
        ".local/share/uv", ".local/share/mise", ".local/share/fnm", ".local/share/pipx",
        ".local/pipx", ".nix-profile", ".nix-defexpr", ".local/state/nix", ".linuxbrew", ".asdf",
        ".local/go", ".local/share/gem", ".local/share/virtualenvs", ".npm-global",
        ".npm-packages", ".composer/vendor", ".config/composer/vendor",
        // Toolchains
        ".rustup", ".cargo", ".swiftly", ".nvm", ".fnm", ".volta", ".nodenv", ".bun", ".deno",
        ".pyenv", ".rye", ".conda", ".rbenv", ".rvm", ".gem", ".sdkman", ".jenv", ".jdks", ".goenv",
        ".dotnet", ".opam", ".ghcup", ".cabal", ".elan", ".juliaup", ".flutter",
        ".coursier", ".mix", ".krew", ".proto", ".pixi", ".plenv", ".phpenv", ".tfenv",
    ]

    /// What tools write for the next time, or can't do without.
    package static let dropped = [
        ".cargo/registry", ".cargo/git", ".npm", ".node-gyp", ".pnpm-store", ".local/share/pnpm",
        ".local/state/pnpm", ".yarn", ".bun/install/cache", ".m2", ".gradle", ".ivy2", ".sbt",
        ".nuget", ".julia", ".stack", ".cabal/packages", ".swiftpm", ".pub-cache",
        ".composer/cache",
        ".bundle/cache", ".java/.userPrefs", ".vscode-server", "go/pkg", ".local/share/virtualenv",
        ".cache",
        ".cache/pip", ".cache/uv", ".cache/go-build", ".cache/pypoetry", ".cache/pre-commit",
        ".cache/node", ".cache/node-gyp", ".cache/yarn", ".cache/pnpm", ".cache/typescript",
        ".cache/deno", ".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress",
        ".cache/electron", ".cache/ccache", ".cache/sccache", ".cache/bazel", ".cache/bazelisk",
        ".cache/coursier", ".cache/clang", ".cache/org.swift.swiftpm",
        ".cache/zig", ".cache/mypy", ".cache/ruff", ".cache/golangci-lint", ".cache/composer",
        ".cache/git",
    ]

    /// What begins empty although the user has one: other programs keep private things there.
    package static let emptied: Set = [".cache", ".java/.userPrefs", ".vscode-server"]

    /// Secrets among what is shown whole, here or where a variable names it.
    ///
    /// Programs of snaps keep theirs as others do in `.config`.
    package static let secrets = [
        ".config/git/credentials", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
        "snap",
    ]

    /// Folders that hold credentials above all.
    ///
    /// Who begins a command in one, or in one around it, may not mean to give them.
    package static let credentialFolders = [
        ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
        ".config/hub", ".config/glab-cli", ".config/op", ".password-store", ".local/share/keyrings",
        ".pki", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
        ".config/BraveSoftware", ".config/microsoft-edge", ".var/app", "snap",
    ]

    /// Settings that may hold a credential, and are shown only if each line is known to have none.
    package static let examined: [(name: String, tool: ToolSettings.Tool)] = [
        (".gitconfig", .git), (".config/git/config", .git), (".cargo/config.toml", .cargo),
        (".cargo/config", .cargo),
    ]

    /// Whether a folder is as it is, and what is written there dropped.
    static func drops(_ folder: String) -> Bool {
        dropped.contains { !emptied.contains($0) && CanonicalPath.isWithin(folder, $0) }
    }

    /// The places of a home.
    ///
    /// `exists` tells what is there, and `list` what lies in a folder.
    package static func entries(
        of home: String,
        _ mode: HomeMode,
        exists: (String) -> Bool,
        list: CredentialCopies.List
    ) -> [ViewEntry] {
        switch mode {
        case .private: return [ViewEntry(.fresh, home)]
        case .shared: return [ViewEntry(.writable, home)]
        case .readOnly: break
        }
        func all(_ mark: ViewEntry.Mark, _ names: [String]) -> [ViewEntry] {
            names.map { ViewEntry(mark, "\(home)/\($0)") }
        }
        let begun = dropped.filter { name in
            !emptied.contains(name) && exists("\(home)/\(name)")
        }
        // A tool that makes its folder finds it there; one below a folder that is shown or is
        // absent can't be made.
        let empty = dropped.filter { name in
            !begun.contains(name) && !name.hasPrefix(".cache/")
                && (exists("\(home)/\(name)") || isAlone(name))
        }
        return [ViewEntry(.dotless, home)]
            + all(.absent, secrets)
            + all(.fresh, empty) + all(.dropped, begun)
            + ToolContents.entries(at: home, list: list)
            + shown.filter { exists("\(home)/\($0)") }.map { name in
                ViewEntry(ToolContents.names(name) ? .emptied : .shown, "\(home)/\(name)")
            }
    }

    /// Whether a folder lies in the home itself, or begins with one that only caches have.
    private static func isAlone(_ name: String) -> Bool {
        name.hasPrefix(".") && !name.contains("/") || name == "go/pkg"
    }

    /// Folders of the home in which each entry is another program's.
    private static let collections: Set = [
        ".local", ".local/share", ".local/state", ".local/lib", ".config", ".cache", ".var",
        ".var/app",
    ]

    /// What to give so that a program can be run: what is its own of the home, or its folder.
    package static func gift(for program: String, in home: String?) -> String {
        guard let home, CanonicalPath.isWithin(program, home) else {
            return CanonicalPath.parent(of: program)
        }
        var gift = ""
        for name in program.dropFirst(home.count + 1).split(separator: "/") {
            gift += gift.isEmpty ? "\(name)" : "/\(name)"
            if !collections.contains(gift) { break }
        }
        return "\(home)/\(gift)"
    }
}
