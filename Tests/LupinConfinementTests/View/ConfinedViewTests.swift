// Which steps a view takes: what is given, what is covered, and which folders are frozen.
import LupinConfinement
import Testing

struct ConfinedViewTests {
    private static let folders: Set = ["/", "/etc", "/etc/app", "/srv", "/srv/w", "/srv/w/in"]

    private func steps(_ entries: (ViewEntry.Mark, String)...) -> [ViewStep] {
        ConfinedView(entries.map { ViewEntry($0, $1) }).steps { Self.folders.contains($0) }
    }

    @Test func `what is absent outside of what was given is left out of its frozen folder`() {
        let found = steps((.absent, "/etc/app/key"), (.absent, "/etc/app/log"))
        #expect(found == [.freeze("/etc/app", without: ["key", "log"], withoutDots: false)])
    }

    @Test func `what is not there yet can't come to be: the folder that is there is frozen`() {
        #expect(
            steps((.absent, "/etc/app/new/below/key"))
                == [.freeze("/etc/app", without: ["new"], withoutDots: false)]
        )
    }

    @Test func `below the root, which can't be frozen, a file is covered`() {
        #expect(steps((.absent, "/lupin.yaml")) == [.cover("/lupin.yaml")])
    }

    @Test func `in what may be written a file is covered, after all else`() {
        #expect(
            steps((.absent, "/srv/w/rules"), (.writable, "/srv/w"))
                == [.give("/srv/w"), .cover("/srv/w/rules")]
        )
    }

    @Test func `in new, emptied and absent folders there is nothing to cover`() {
        for mark in [ViewEntry.Mark.fresh, .emptied, .absent] {
            let found = steps((mark, "/srv"), (.absent, "/srv/w/x"))
            #expect(found.count == 1, "\(mark)")
        }
        #expect(steps((.dropped, "/srv/w"), (.absent, "/srv/w/x")).last == .remove("/srv/w/x"))
    }

    @Test func `a home is frozen without what begins with a dot, and what lies in it is put back`()
    {
        let found = steps(
            (.dotless, "/srv/w"),
            (.absent, "/srv/w/in/x"),
            (.absent, "/srv/w/.hidden/x"),
            (.writable, "/srv/w/in/work")
        )
        #expect(
            found == [
                .freeze("/srv/w", without: [], withoutDots: true),
                .freeze("/srv/w/in", without: ["x"], withoutDots: false),
                .give("/srv/w/in/work"),
            ]
        )
    }

    @Test func `the outermost comes first, and a home in what is new is shown there first`() {
        let found = steps((.writable, "/srv/w/in"), (.dotless, "/srv/w"), (.fresh, "/srv"))
        #expect(
            found == [
                .refresh("/srv"), .show("/srv/w"),
                .freeze("/srv/w", without: [], withoutDots: true), .give("/srv/w/in"),
            ]
        )
    }

    @Test func `what is kept covers itself where it could be changed, and nowhere else`() {
        #expect(
            steps((.kept, "/srv/w/ca.pem"), (.writable, "/srv/w"))
                == [.give("/srv/w"), .keep("/srv/w/ca.pem")]
        )
        #expect(steps((.kept, "/etc/app/ca.pem")).isEmpty)
        for mark in ViewEntry.Mark.allCases where mark != .writable {
            let found = steps((mark, "/srv/w"), (.kept, "/srv/w/ca.pem"))
            #expect(!found.contains(.keep("/srv/w/ca.pem")), "\(mark)")
        }
        let view = ConfinedView([ViewEntry(.writable, "/w"), ViewEntry(.kept, "/w/ca.pem")])
        #expect(!view.isAbsent("/w/ca.pem") && !view.isWritable("/w/ca.pem"))
    }

    @Test func `the first mark of a path stays`() {
        let view = ConfinedView([ViewEntry(.absent, "/a"), ViewEntry(.writable, "/a")])
        #expect(view.mark(of: "/a/b") == .absent && view.entries.count == 1)
        #expect(!view.isWritable("/a") && view.mark(of: "/ab") == nil)
    }

    @Test(arguments: ViewEntry.Mark.allCases)
    func `a place is one argument of a command`(_ mark: ViewEntry.Mark) {
        let entry = ViewEntry(mark, "/a: b/c")
        #expect(ViewEntry(entry.text) == entry)
        #expect(ViewEntry("\(mark.rawValue):relative") == nil)
    }

    @Test func `only what the table names of a home is there`() {
        let list = tree(of: ["/h/.cargo/bin/cargo", "/h/.cargo/x", "/h/.m2/settings.xml"])
        let view = ConfinedView(
            HomeTable.entries(of: "/h", .readOnly, exists: { _ in true }, list: list)
        )
        for name in [
            ".ssh/id", ".npmrc", ".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".gnupg",
            ".mozilla/x", ".local/share/keyrings/x", ".docker/config.json", ".kube/config", ".new",
        ] {
            #expect(view.mark(of: "/h/\(name)") == .dotless, "\(name)")
        }
        for name in [".cargo/x", ".m2/settings.xml", ".config/git/credentials", "snap/x/.y"] {
            #expect(view.mark(of: "/h/\(name)") == .absent, "\(name)")
        }
        #expect(view.mark(of: "/h/.cargo/credentials.toml") == .emptied)
        #expect(view.mark(of: "/h/.cache/mozilla") == .fresh)
        #expect(view.mark(of: "/h/.cache/pip/x") == .dropped)
        #expect(view.mark(of: "/h/.cargo/bin/cargo") == .shown)
        #expect(view.mark(of: "/h/documents") == nil && !view.isWritable("/h/documents"))
    }

    @Test func `a folder that a variable names is as that of the home`() {
        func view(_ folder: String) -> ConfinedView {
            let list = tree(
                of: [
                    "bin/x", "credentials.toml", "registry/x", "caches/x", "gradle.properties",
                    "init.gradle", "init.d/x", "_cacache/x", "_logs/x", "src/x",
                ].map { "/v/\($0)" }
            )
            return ConfinedView(
                VariableTable.entries(of: folder, at: "/v", exists: { _ in true }, list: list)
            )
        }
        #expect(view(".cargo").isAbsent("/v/credentials.toml"))
        #expect(view(".cargo").mark(of: "/v/registry/x") == .dropped)
        #expect(view(".cargo").mark(of: "/v/bin") == .shown)
        #expect(view(".gradle").mark(of: "/v/caches") == .dropped)
        for name in ["gradle.properties", "init.gradle", "init.d/x"] {
            #expect(view(".gradle").mark(of: "/v/\(name)") == .absent, "\(name)")
        }
        #expect(view(".npm").mark(of: "/v/_cacache") == .dropped)
        #expect(view(".npm").mark(of: "/v/_logs/x") == .absent)
        #expect(view(".nuget/packages").mark(of: "/v/x") == .dropped)
        #expect(view("go").mark(of: "/v/pkg/x") == .dropped && view("go").mark(of: "/v/src") == nil)
        #expect(view("go/pkg/mod").mark(of: "/v/x") == .dropped)
        #expect(view(".cache/huggingface").mark(of: "/v/token") == .absent)
        #expect(view(".cache/huggingface").mark(of: "/v/hub") == nil)
        #expect(view(".local/lib").entries.isEmpty)
    }

    @Test func `a variable is a list of paths`() {
        #expect(VariableTable.paths(in: "/a:~/b::c", home: "/h") == ["/a", "/h/b", "c"])
        #expect(VariableTable.paths(in: "", home: "/h").isEmpty)
    }

    @Test func `copies of secrets, and credentials by their usual names, are found`() {
        let list = tree([
            "/h/.config/git": ["config", "credentials", "credentials.bak", ".credentials.swp"],
            "/h/.pnpm-store": [".npmrc", "v3"], "/h/.local/bin": [".env", "tool"],
            "/h/.npm": [".npmrc", "_cacache"], "/h/.yarn": [".yarnrc.yml"],
            "/h/.nvm": [".npmrc", ".env.local", "nvm.sh"], "/h/.pyenv": [".netrc", "bin"],
            "/h": [".npmrc", ".env"], "/h/work": [".env"],
        ])
        let found = CredentialCopies.paths(at: "/h", list: list)
        #expect(
            Set(found) == [
                "/h/.config/git/credentials", "/h/.config/git/credentials.bak",
                "/h/.config/git/.credentials.swp", "/h/.local/bin/.env", "/h/.npm/.npmrc",
                "/h/.yarn/.yarnrc.yml", "/h/.nvm/.npmrc", "/h/.nvm/.env.local", "/h/.pyenv/.netrc",
                "/h/.pnpm-store/.npmrc",
            ]
        )
        let elsewhere = CredentialCopies.paths(of: ".config/git", at: "/h/.config/git", list: list)
        #expect(Set(elsewhere) == Set(found.filter { $0.hasPrefix("/h/.config/git/") }))
    }

    /// Lists folders by the names in each; names with an entry of their own are folders.
    private func tree(_ folders: [String: [String]]) -> CredentialCopies.List {
        { folder in
            (folders[folder] ?? []).map { ($0, folders["\(folder)/\($0)"] != nil) }
        }
    }

    /// Lists the folders above some files.
    private func tree(of files: [String]) -> CredentialCopies.List {
        var folders: [String: [String]] = [:]
        for path in files.flatMap(CanonicalPath.upwards) where path != "/" {
            let folder = CanonicalPath.parent(of: path)
            if folders[folder]?.contains(CanonicalPath.name(of: path)) == true { continue }
            folders[folder, default: []].append(CanonicalPath.name(of: path))
        }
        return tree(folders)
    }

    @Test(arguments: [
        ".nvm/versions/node/v20/etc/npmrc",
        ".nvm/versions/node/v20/lib/node_modules/npm/npmrc",
        ".nvm/versions/node/v20/lib/node_modules/npm/.npmrc",
        ".volta/tools/image/node/20/etc/npmrc", ".asdf/installs/nodejs/20/etc/npmrc",
        ".local/share/mise/installs/node/20/etc/npmrc",
        ".local/share/fnm/node-versions/v20/installation/etc/npmrc.orig",
        ".local/lib/node_modules/npm/npmrc", ".local/share/pnpm/rc", ".local/share/pnpm/rc~",
        ".pyenv/versions/3.12/pip.conf", ".pyenv/versions/3.12/envs/a/pip.conf.bak",
        ".local/share/uv/tools/ruff/pip.conf", ".local/share/virtualenvs/v/pip.conf",
        ".local/share/pipx/venvs/v/pip.conf", ".sdkman/candidates/maven/3.9/conf/settings.xml",
        ".sdkman/candidates/maven/3.9/conf/settings.xml.orig",
        ".sdkman/candidates/gradle/8/init.d", ".sdkman/candidates/gradle/8/gradle.properties",
        ".gradle/wrapper/dists/gradle-8-bin/x/gradle-8/init.d", ".sbt/credentials",
        ".sbt/.credentials.bak", ".sbt/1.0/plugins/credentials.sbt", ".ivy2/credentials",
        ".rbenv/versions/3.3/etc/gemrc", ".conda/envs/a/.condarc", ".asdf/plugins/x/.env",
        ".nvm/a/b/c/.netrc", ".pyenv/plugins/p/.npmrc.save", ".nvm/#npmrc#", ".nvm/.npmrc.swp",
        ".conda/envs/a/conda-meta/state", ".conda/envs/a/etc/conda/activate.d",
        "miniconda3/.condarc", "miniconda3/envs/a/conda-meta/state",
        ".cache/pypoetry/virtualenvs/v/pip.conf",
    ])
    func `credentials by their names are found at any usual depth`(name: String) {
        let path = "/h/\(name)"
        #expect(Set(CredentialCopies.paths(at: "/h", list: tree(of: [path]))) == [path])
    }

    @Test(arguments: [
        ".nvm/versions/node/v20/lib/node_modules/other/npmrc", ".pyenv/versions/3/src/pip.conf",
        ".npm/_cacache/npmrc", ".cache/pip/http/a/pip.conf", ".pyenv/plugins/credentials.py",
        ".nvm/rc", ".sdkman/settings.xml", ".cargo/registry/src/x/.env", ".nvm/npmrc2",
        "work/.env",
    ])
    func `and not among packages, nor by names that mean something else`(name: String) {
        #expect(CredentialCopies.paths(at: "/h", list: tree(of: ["/h/\(name)"])).isEmpty)
    }

    @Test func `folders that are without end are looked into so far, the outermost first`() {
        var asked = 0
        let found = CredentialCopies.paths(at: "/h") { folder in
            guard folder.hasPrefix("/h/.nvm") else { return [] }
            asked += 1
            return (0..<10).map { ("\($0)", true) } + [(".env", false)]
        }
        #expect(asked <= CredentialCopies.foldersMax && found.count == asked)
        #expect(found.first == "/h/.nvm/.env")
    }

    @Test func `settings have copies, too`() {
        let names = ["config", "config.toml", "config.toml.bak", "bin"].map { ($0, false) }
        let found = CredentialCopies.copies(of: "/h/.cargo/config.toml") { _ in names }
        #expect(found == ["/h/.cargo/config.toml.bak"])
    }
}
