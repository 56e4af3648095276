// What is let in of the folders of tools: programs, packages, caches; the rest may be credentials.

import LupinCore

/// Folders of tools of which a confined command sees what is named, and nothing else.
///
/// In patterns `*` is any text and `#` a number; a pattern that ends in a slash is for folders.
package enum ToolContents {
    /// A folder of a home or of its like elsewhere, with what is let in of it.
    private struct Folder {
        /// Its path now.
        let path: String
        /// Its path below the home.
        let original: String
        let names: [String]

        func admits(_ entry: (name: String, isFolder: Bool)) -> Bool {
            names.contains { pattern in
                guard pattern.hasSuffix("/") else { return matches(entry.name, pattern) }
                return entry.isFolder && matches(entry.name, String(pattern.dropLast()))
            }
        }
    }

    /// What managers of versions have, such as pyenv.
    private static let versions = [
        "bin", "libexec", "lib", "shims", "versions", "version", "plugins", "completions", "share",
        "src", "*env.d", "alias", "candidates",
    ]
    /// What programs have that were installed below a prefix.
    private static let prefix = [
        "bin", "sbin", "lib", "lib64", "libexec", "include", "share", "man", "doc",
    ]
    private static let conda =
        prefix + [
            "condabin", "conda-meta", "envs", "pkgs", "etc", "shell", "ssl", "compiler_compat",
            "*-conda-linux-gnu", "*-conda_cos*-linux-gnu", "plugins", "qml", "resources",
            "translations", "LICENSE*",
        ]
    private static let gems = [
        "bin", "build_info", "bundler", "cache", "doc", "extensions", "gems", "jruby", "plugins",
        "ruby", "specifications", "specs", "wrappers",
    ]

    /// The table; a folder that is in another one stands behind it.
    private static let table: [(folder: String, names: [String])] = [
        // Python
        (".cache/pypoetry", ["artifacts", "cache", "virtualenvs"]),
        (".cache/pre-commit", ["repo*", "db.db", "README", ".lock"]),
        (".cache/uv", ["*-v#", ".tmp*", ".gitignore", ".lock", "CACHEDIR.TAG"]),
        (".local/share/uv", ["python", "tools"]), (".pyenv", versions),
        (".local/share/pipx", ["py", "shared", "venvs"]),
        (".local/pipx", ["py", "shared", "venvs"]),
        (".rye", ["env", "pip-tools", "py", "self", "shims", "tools", "uv"]),
        (".conda", ["envs", "pkgs", "environments.txt"]), ("miniconda", conda),
        ("miniconda3", conda), ("anaconda", conda), ("anaconda3", conda), ("miniforge3", conda),
        ("mambaforge", conda), ("micromamba", conda), (".pixi", ["bin", "envs", "manifests"]),
        // Node.js and its like
        (".npm", ["_cacache", "_npx", "_prebuilds", "_libvips", "_update-notifier-last-checked"]),
        (".npm-global", prefix), (".npm-packages", prefix), (".node-gyp", ["#*/"]),
        (".cache/node-gyp", ["#*/"]), (".cache/node", ["corepack"]),
        (".cache/node/corepack", ["v#", "*/", "lastKnownGood.json"]),
        (".pnpm-store", ["v#"]), (".cache/pnpm", ["*/"]), (".cache/typescript", ["#*"]),
        (".yarn", ["berry", "bin", "cache", "releases", "plugins", "switch", "unplugged"]),
        (".cache/yarn", ["v#", "*.zip"]), (".nodenv", versions),
        (".nvm", ["nvm*", "bash_completion", "alias", "versions", "v#*/", "default-packages"]),
        (".fnm", ["node-versions", "aliases"]),
        (".local/share/fnm", ["node-versions", "aliases"]),
        (".volta", ["bin", "cache", "layout.*", "load.*", "tools", "volta*"]),
        (".bun", ["bin", "install", "_bun"]), (".deno", ["bin", "env", "completions"]),
        (
            ".cache/deno",
            [
                "deps", "dl", "gen", "npm", "registries", "remote", "*_cache_v#*",
                "node_analysis_*", "latest.txt",
            ]
        ),
        // Browsers that tests drive: what they kept of people's visits lies beside them.
        (
            ".cache/ms-playwright",
            [
                "chromium-#", "chromium_*-#", "chromium-tip-of-tree-#", "firefox-#", "firefox-*-#",
                "firefox_*-#", "webkit-#", "webkit_*-#", "ffmpeg-#", "ffmpeg_*-#", "android-#",
                ".links",
            ]
        ),
        (
            ".cache/puppeteer",
            ["chrome", "chrome-headless-shell", "chromedriver", "chromium", "firefox"]
        ),
        (".cache/puppeteer/*", ["linux-*", "linux_arm-*", ".metadata"]),
        (".cache/Cypress", ["#*/"]),
        // Java and its like
        (".m2", ["repository", "wrapper", "build-cache"]),
        // What a daemon noted of builds is not let in: it is out of reach.
        (".gradle", ["caches", "wrapper", "jdks", "native", "nodejs"]),
        (".ivy2", ["cache", "local", "jars", "bundles"]), (".sbt", ["boot", "launchers", "#*/"]),
        (".sbt/#*", ["dependency", "java*-rt-ext*", "plugins", "staging", "zinc"]),
        (plugins, ["project", "target", "*.sbt"]),
        (".coursier", ["bin", "cache", "jvm"]), (".cache/coursier", ["v#", "arc", "jvm"]),
        (
            ".sdkman",
            ["bin", "candidates", "contrib", "etc", "ext", "libexec", "src", "tmp", "var"]
        ), (".jenv", versions),
        // Rust, Go, Swift, C
        (
            ".cargo",
            [
                "bin", "env", "env.fish", "env.nu", "config", "config.toml", ".crates.toml",
                ".crates2.json",
            ]
        ),
        (".rustup", ["toolchains", "settings.toml", "update-hashes"]), (".goenv", versions),
        (".swiftpm", ["cache", "security"]),
        (".swiftly", ["bin", "toolchains", "config.json", "env.sh", "env.fish"]),
        (".cache/ccache", ["*/", "CACHEDIR.TAG", "lock*"]), (".cache/sccache", ["*/"]),
        (".cache/bazel", ["_bazel_*"]), (".cache/bazel/_bazel_*", ["cache", "install"]),
        // Ruby, PHP, Perl
        (".gem", gems), (".local/share/gem", gems), (".rbenv", versions), (".plenv", versions),
        (".phpenv", versions + ["etc"]),
        (
            ".rvm",
            [
                "bin", "config", "contrib", "environments", "gems", "gemsets", "help", "hooks",
                "lib", "patches", "patchsets", "rubies", "scripts", "src", "usr", "wrappers",
                "RELEASE", "VERSION",
            ]
        ),
        // Haskell, OCaml, Erlang, Julia
        (".cabal", prefix + ["store"]),
        (
            ".stack",
            ["global-project", "pantry", "programs", "script*", "setup-exe-*", "*.sqlite3"]
        ),
        (".ghcup", ["bin", "cache", "env", "ghc", "hls", "share"]),
        (".opam", ["*/", "config", "lock"]),
        (
            ".opam/*",
            prefix + [".opam-switch", "etc", "*.sh", "*.zsh", "*.fish", "hooks", "stublibs"]
        ),
        (".opam/*/.opam-switch", ["*-state", "*-config", "environment", "packages"]),
        (".elan", ["bin", "env", "settings.toml", "toolchains", "update-hashes"]),
        (".mix", ["archives", "elixir", "escripts", "rebar*"]),
        (
            ".julia",
            [
                "artifacts", "bin", "clones", "compiled", "dev", "environments", "juliaup",
                "packages", "registries",
            ]
        ),
        (".juliaup", ["bin", "julia-*", "juliaup.json"]),
        // .NET, Dart
        (
            ".dotnet",
            [
                "dotnet", "host", "library-packs", "metadata", "packs", "sdk", "sdk-manifests",
                "shared", "swidtag", "templates", "tools", "*entinel",
            ]
        ),
        (".nuget", ["packages"]),
        (
            ".pub-cache",
            ["_temp", "active_roots", "bin", "git", "global_packages", "hosted*", "README.md"]
        ),
        // Several
        (
            "google-cloud-sdk",
            ["bin", "completion.*", "data", "lib", "path.*", "platform", "VERSION"]
        ),
        (
            ".asdf",
            ["asdf.*", "bin", "completions", "installs", "lib", "plugins", "shims", "version.txt"]
        ), (".local/share/mise", ["bin", "installs", "plugins", "shims"]),
        (".proto", ["bin", "plugins", "shims", "tools"]), (".tfenv", versions),
        (".krew", ["bin", "receipts", "store"]),
        (
            ".linuxbrew",
            prefix + ["Caskroom", "Cellar", "completions", "etc", "Homebrew", "Library", "opt"]
        ),
    ]

    private static let folders = Set(table.map(\.folder))

    /// Clones that tools keep; the settings of each may name a URL with a password.
    private static let clones = [
        ".pyenv/plugins/*", ".rbenv/plugins/*", ".asdf/plugins/*",
        ".local/share/mise/plugins/*", ".julia/registries/*", ".julia/clones/*",
        ".cargo/git/db/*", ".cargo/git/checkouts/*/*", ".cargo/registry/index/*",
        "go/pkg/mod/cache/vcs/*", ".cache/pre-commit/*", ".cache/uv/git-v#/db/*",
        ".cache/uv/git-v#/checkouts/*/*", ".pub-cache/git/*", ".pub-cache/git/cache/*",
        ".swiftpm/cache/repositories/*", ".cache/org.swift.swiftpm/repositories/*",
        ".composer/cache/vcs/*", ".cache/composer/vcs/*", ".composer/vendor/*/*",
        ".gem/ruby/*/bundler/gems/*", ".gem/ruby/*/cache/bundler/git/*",
        ".local/share/gem/ruby/*/bundler/gems/*", ".local/share/gem/ruby/*/cache/bundler/git/*",
        ".rbenv/versions/*/lib/ruby/gems/*/bundler/gems/*",
        ".rbenv/versions/*/lib/ruby/gems/*/cache/bundler/git/*", ".rvm/gems/*/bundler/gems/*",
        ".rvm/gems/*/cache/bundler/git/*", ".bundle/cache/git/*", ".julia/dev/*",
        // What pip installs by `-e git+https://…`.
        ".pyenv/versions/*/src/*", ".local/share/pipx/venvs/*/src/*",
        ".local/share/uv/tools/*/src/*", ".cache/pypoetry/virtualenvs/*/src/*",
        ".conda/envs/*/src/*", "miniconda3/src/*", "miniconda3/envs/*/src/*",
        "miniforge3/envs/*/src/*", "anaconda3/envs/*/src/*",
    ]
    private static let plugins = ".sbt/#*/plugins"
    /// More clones are not looked into, since that takes time at each start.
    private static let clonesMax = 256

    /// Whether the table says what is let in of a folder of a home.
    package static func names(_ folder: String) -> Bool { folders.contains(folder) }

    /// The folders of a home that the table knows by name.
    package static let known = table.map(\.folder).filter { !$0.contains { "*#".contains($0) } }

    /// What is seen of the folders of a home, or of a folder that is as one of it.
    ///
    /// What lies in another comes first, so that it stays.
    /// - Parameters:
    ///   - folder: That of the home; nil for the home itself.
    ///   - path: Where it lies.
    ///   - list: Tells what lies in a folder.
    /// - Returns: Places of which the first for a path decides.
    package static func entries(
        of folder: String? = nil,
        at path: String,
        list: CredentialCopies.List
    ) -> [ViewEntry] {
        found(of: folder, at: path, list).reversed().flatMap { found -> [ViewEntry] in
            let entries = list(found.path)
            func marked(_ mark: ViewEntry.Mark, isAdmitted: Bool) -> [ViewEntry] {
                entries.filter { found.admits($0) == isAdmitted }
                    .map { ViewEntry(mark, "\(found.path)/\($0.name)") }
            }
            let absent = marked(.absent, isAdmitted: false)
            if HomeTable.drops(found.original) || entries.isEmpty { return absent }
            return marked(.shown, isAdmitted: true) + [ViewEntry(.emptied, found.path)] + absent
        }
    }

    /// Settings that are seen if each line is known to be harmless: those of clones, and plugins.
    package static func examined(
        of folder: String? = nil,
        at path: String,
        list: CredentialCopies.List
    ) -> [(path: String, tool: ToolSettings.Tool)] {
        let clones = clones.flatMap { expand($0, of: folder, at: path, list) }
        let settings = clones.prefix(clonesMax).flatMap { clone in
            let names = Set(list(clone).map(\.name))
            // One with files, or one without.
            let git = names.contains(".git") ? "\(clone)/.git" : clone
            let modules = list("\(git)/modules").map { "\(git)/modules/\($0.name)/config" }
            return ["\(git)/config", "\(git)/credentials"] + modules
        }
        let plugins = expand(plugins, of: folder, at: path, list).flatMap { folder in
            list(folder).filter { matches($0.name, "*.sbt") }.map { "\(folder)/\($0.name)" }
        }
        return settings.map { ($0, .git) } + plugins.map { ($0, .sbt) }
    }

    /// The folders of the table, each before those in it.
    private static func found(
        of folder: String?,
        at path: String,
        _ list: CredentialCopies.List
    ) -> [Folder] {
        table.flatMap { pattern, names in
            expand(pattern, of: folder, at: path, list).map { place in
                let below = place.dropFirst(path.count)
                let original = (folder ?? "") + (folder == nil ? below.dropFirst() : below)
                return Folder(path: place, original: original, names: names)
            }
        }
    }

    /// The folders that a pattern of the home means, whether or not they are there.
    private static func expand(
        _ pattern: String,
        of folder: String?,
        at path: String,
        _ list: CredentialCopies.List
    ) -> [String] {
        var parts = pattern.split(separator: "/").map(String.init)[...]
        if let folder {
            // The folder is one that the pattern means, or around such a one.
            for name in folder.split(separator: "/") {
                guard let part = parts.popFirst(), matches(String(name), part) else { return [] }
            }
        }
        return parts.reduce([path]) { paths, part in
            paths.flatMap { path -> [String] in
                guard part.contains(where: { "*#".contains($0) }) else {
                    return ["\(path)/\(part)"]
                }
                return list(path).filter { $0.isFolder && matches($0.name, part) }
                    .map { "\(path)/\($0.name)" }
            }
        }
    }

    private static func matches(_ name: String, _ pattern: String) -> Bool {
        matches(Array(name.utf8)[...], Array(pattern.utf8)[...])
    }

    private static func matches(_ name: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        let (rest, next) = (pattern.dropFirst(), name.dropFirst())
        switch first {
        case UInt8(ascii: "*"):
            return matches(name, rest) || !name.isEmpty && matches(next, pattern)
        case UInt8(ascii: "#"):
            guard name.first?.isASCIIDigit == true else { return false }
            return matches(next, rest) || matches(next, pattern)
        default: return name.first == first && matches(next, rest)
        }
    }
}
