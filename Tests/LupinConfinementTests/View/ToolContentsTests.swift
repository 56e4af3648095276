// What is let in of the folders of tools, and that nothing else is.
import LupinConfinement
import Testing

struct ToolContentsTests {
    /// The view of a home with one file, and of the folders that variables name.
    private func view(with file: String) -> ConfinedView {
        let paths = CanonicalPath.upwards(from: "/h/\(file)")
        let list: CredentialCopies.List = { folder in
            paths.filter { $0 != "/" && CanonicalPath.parent(of: $0) == folder }
                .map { (CanonicalPath.name(of: $0), $0 != paths[0]) }
        }
        let copies = CredentialCopies.paths(at: "/h", list: list)
        return ConfinedView(
            copies.map { ViewEntry(.absent, $0) }
                + HomeTable.entries(of: "/h", .readOnly, exists: paths.contains, list: list)
        )
    }

    @Test(arguments: [
        // Java and its like
        ".gradle/develocity/keys.properties", ".gradle/enterprise/keys.properties",
        ".gradle/gradle.properties", ".gradle/gradle.properties~", ".gradle/secring.gpg",
        ".gradle/signing.gpg", ".gradle/gradle.encrypted.properties", ".gradle/init.d/a.gradle",
        ".gradle/init.gradle.kts", ".gradle/daemon/8/daemon-1.out.log",
        ".gradle/secrets.properties",
        ".m2/.develocity/keys.properties", ".m2/.gradle-enterprise/keys.properties",
        ".m2/settings.xml", ".m2/settings-work.xml", ".m2/settings4.xml", ".m2/jvm.config",
        ".m2/settings-security4.xml", ".m2/toolchains.xml", ".m2/master-password",
        ".sbt/.develocity/keys.properties", ".sbt/gpg/secring.asc", ".sbt/1.0/sonatype.sbt",
        ".sbt/sonatype_credentials", ".sbt/repositories", ".sbt/1.0/plugins/credentials",
        ".ivy2/.sbtcredentials", ".ivy2/.credentials_work", ".coursier/credentials.properties",
        // Python and Conda
        ".conda/envs/p/conda-meta/state", ".conda/envs/p/etc/conda/activate.d/env_vars.sh",
        ".conda/aau_token", ".conda/envs/p/.condarc", "miniconda3/.condarc", "miniconda3/condarc",
        ".cache/pypoetry/auth.toml", ".cache/pypoetry/virtualenvs/p/pip.conf", ".rye/config.toml",
        ".rye/credentials", ".local/share/uv/credentials/creds.toml", ".cache/uv/credentials",
        ".pyenv/.git/config", ".cache/pre-commit/patch1", ".cache/pre-commit/pre-commit.log",
        // Browsers
        ".cache/ms-playwright/mcp-chrome-profile/Default/Cookies",
        ".cache/ms-playwright/mcp-chrome-1a2b/Default/Login Data",
        ".cache/ms-playwright/chromium-profile/Default/Cookies",
        ".cache/puppeteer/profile/Cookies", ".cache/puppeteer/chrome/profile/Cookies",
        ".cache/Cypress/cy/production/projects/x", ".cache/ms-playwright-mcp/x/Cookies",
        ".cache/deno/location_data/x/local_storage",
        "snap/firefox/common/.mozilla/firefox/p/logins.json", "snap/gh/1/.config/gh/hosts.yml",
        "snap/chromium/common/chromium/Default/Login Data", "snap/aws-cli/1/.aws/credentials",
        // Others
        ".cargo/credentials", ".cargo/credentials.toml", ".cargo/env.local",
        ".cargo/config.toml.orig",
        ".opam/plugins/opam-publish/me.token", ".opam/repo/repos-config", ".rbenv/vars",
        ".julia/config/startup.jl", ".julia/servers/x/auth.toml", ".julia/logs/repl_history.jl",
        ".stack/upload/credentials.json", ".stack/config.yaml", ".cabal/config",
        ".gem/gem-private_key.pem", ".local/share/gem/credentials", ".nuget/NuGet/NuGet.Config",
        ".nuget/plugin-cache/x", ".dotnet/corefx/cryptography/x509stores/my/A.pfx",
        ".npm/_logs/debug.log", ".npm-global/etc/npmrc", ".mix/hex.config",
        ".bun/install/global/bunfig.toml", ".volta/hooks.json",
        ".pub-cache/credentials.json", ".pub-cache/pub-tokens.json", ".linuxbrew/etc/npmrc",
        ".swiftpm/configuration/registries.json", ".cache/ccache/ccache.conf", ".pixi/config.toml",
        ".cache/bazel/_bazel_me/1a/command.log", ".local/share/mise/token", ".ghcup/config.yaml",
        ".gem/credentials", ".hex/hex.config", ".composer/auth.json", ".config/composer/auth.json",
        ".config/coursier/credentials.properties",
    ])
    func `what no table names of a tool's folder is absent`(file: String) {
        #expect(view(with: file).isAbsent("/h/\(file)"))
    }

    @Test(arguments: [
        ".gradle/caches/modules-2/x", ".gradle/wrapper/dists/x", ".gradle/jdks/x",
        ".gradle/native/x", ".m2/repository/a/b.jar", ".m2/wrapper/dists/x", ".ivy2/cache/x",
        ".ivy2/local/x", ".sbt/boot/x", ".sbt/1.0/zinc/x", ".sbt/1.0/plugins/plugins.sbt",
        ".coursier/jvm/x", ".sdkman/bin/x",
        ".sdkman/candidates/java/21/bin/java", ".jdks/17/bin/java", ".conda/envs/p/bin/python",
        "miniconda3/bin/conda", "miniconda3/condabin/conda", "miniconda3/etc/profile.d/conda.sh",
        "miniconda3/conda-meta/history", ".pyenv/versions/3.12/bin/python", ".pyenv/shims/python",
        ".pyenv/libexec/pyenv", ".pyenv/version", ".rye/shims/python", ".cache/pip/http-v2/a/x",
        ".cache/uv/wheels-v5/x", ".cache/uv/CACHEDIR.TAG", ".local/share/uv/tools/ruff/bin/ruff",
        ".cache/pypoetry/virtualenvs/p/bin/python", ".cache/pre-commit/repoabc/x",
        ".cache/ms-playwright/chromium-1140/chrome-linux/chrome",
        ".cache/ms-playwright/ffmpeg-1009/x",
        ".cache/ms-playwright/chromium_headless_shell-1140/x", ".cache/ms-playwright/.links/x",
        ".cache/puppeteer/chrome/linux-121.0.6167.85/chrome-linux64/chrome",
        ".cache/Cypress/13.6.0/Cypress/Cypress", ".cache/deno/npm/x", ".cache/deno/deps/x",
        ".cargo/bin/cargo", ".cargo/config.toml", ".cargo/env", ".cargo/registry/cache/x",
        ".cargo/git/db/x", ".rustup/toolchains/stable/bin/rustc", ".rustup/settings.toml",
        ".opam/default/bin/ocaml", ".opam/default/.opam-switch/switch-config",
        ".opam/opam-init/variables.sh", ".rbenv/versions/3.3/bin/ruby", ".rbenv/bin/rbenv",
        ".julia/packages/x", ".julia/registries/General.tar.gz", ".stack/programs/ghc/bin/ghc",
        ".cabal/bin/x", ".cabal/store/x", ".gem/ruby/3.3.0/bin/x", ".nuget/packages/x",
        ".dotnet/dotnet", ".dotnet/tools/x", ".npm/_cacache/x", ".npm/_npx/1a/x",
        ".npm-global/bin/x", ".npm-global/lib/node_modules/x", ".nvm/versions/node/v20/bin/node",
        ".nvm/nvm.sh", ".nvm/alias/default", ".volta/bin/node", ".bun/bin/bun", ".deno/bin/deno",
        ".yarn/berry/cache/x", ".mix/archives/hex", ".pub-cache/hosted/pub.dev/x", "go/bin/x",
        "go/pkg/mod/x", ".swiftpm/cache/x", ".cache/go-build/0a/x", ".cache/ccache/0/x",
        ".asdf/installs/nodejs/20/bin/node", ".local/share/mise/installs/node/20/bin/node",
        ".linuxbrew/bin/x", ".krew/bin/x", ".ghcup/bin/ghc", ".elan/bin/lean", ".proto/bin/x",
        ".cache/bazel/_bazel_me/cache/repos/x", ".rvm/rubies/3/bin/ruby",
        ".local/share/virtualenvs/a/bin/python", ".composer/vendor/bin/x", ".local/go/bin/go",
        ".config/composer/vendor/bin/x", ".coursier/bin/cs", ".local/share/gem/ruby/3.3.0/bin/x",
    ])
    func `what tools run and build with is there`(file: String) {
        #expect(!view(with: file).isAbsent("/h/\(file)"))
    }

    @Test func `what comes to be in a folder of programs is absent, however it was before`() {
        for file in [".cargo/bin/cargo", ".rustup/toolchains/x", ".opam/default/bin/x"] {
            let folder = CanonicalPath.parent(of: CanonicalPath.parent(of: "/h/\(file)"))
            #expect(view(with: file).mark(of: "\(folder)/new") == .emptied, "\(file)")
        }
        #expect(
            ConfinedView(
                HomeTable.entries(of: "/h", .readOnly, exists: { _ in true }, list: { _ in [] })
            ).isAbsent("/h/.rustup/new")
        )
    }

    @Test func `a tool writes what is dropped beside what it is let have`() {
        for file in [".gradle/caches/x", ".m2/repository/x", ".npm/_cacache/x", ".stack/pantry/x"] {
            let folder = CanonicalPath.upwards(from: "/h/\(file)").dropLast(2).last ?? ""
            #expect(view(with: file).mark(of: "\(folder)/new") == .dropped, "\(file)")
        }
    }

    @Test func `every folder of the table is one that a home shows`() {
        for name in ToolContents.known where name.hasPrefix(".") {
            let all = HomeTable.shown + HomeTable.dropped
            #expect(all.contains { CanonicalPath.isWithin(name, $0) }, "\(name)")
        }
    }

    @Test(arguments: [
        (".cargo/git/db/x", ["FETCH_HEAD", "config"], "config"),
        (".cargo/git/checkouts/x/1a", [".git"], ".git/config"),
        ("go/pkg/mod/cache/vcs/1a", ["HEAD", "objects"], "config"),
        (".cache/pre-commit/repo1", [".git", "setup.py"], ".git/config"),
        (".cache/pre-commit/repo1", [".git"], ".git/credentials"),
        (".cache/uv/git-v0/db/1a", ["HEAD"], "config"),
    ])
    func `the settings of clones are looked for where tools clone`(
        clone: String,
        names: [String],
        settings: String
    ) {
        let paths = CanonicalPath.upwards(from: "/h/\(clone)")
        let list: CredentialCopies.List = { folder in
            if folder == paths[0] { return names.map { ($0, true) } }
            return paths.filter { $0 != "/" && CanonicalPath.parent(of: $0) == folder }
                .map { (CanonicalPath.name(of: $0), true) }
        }
        let found = ToolContents.examined(at: "/h", list: list).map(\.path)
        #expect(found.contains("/h/\(clone)/\(settings)"))
    }

    @Test func `plugins of sbt are seen unless a line is about credentials`() {
        let plain = "addSbtPlugin(\"org.scalameta\" % \"sbt-scalafmt\" % \"2.5.2\")\n\n// more\n"
        #expect(ToolSettings(plain, of: .sbt).doubt == nil)
        for line in [
            "credentials += Credentials(Path.userHome / \".sbt\" / \"x\")",
            "resolvers += \"x\" at \"https://me:word@nexus.test/\"", "val password = \"x\"",
        ] {
            #expect(ToolSettings(plain + line, of: .sbt).doubt?.line == 4, "\(line)")
        }
    }
}
