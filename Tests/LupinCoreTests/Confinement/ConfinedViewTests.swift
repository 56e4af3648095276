// Which steps a view takes: what is given, what is covered, and which folders are frozen.
import LupinCore
import Testing

struct ConfinedViewTests {
    private static let folders: Set = ["/", "/etc", "/etc/app", "/srv", "/srv/w", "/srv/w/in"]

    private func steps(_ places: (ViewedPlace.Mark, String)...) -> [ViewStep] {
        ConfinedView(places.map { ViewedPlace($0, $1) }).steps { Self.folders.contains($0) }
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
        for mark in [ViewedPlace.Mark.fresh, .emptied, .absent] {
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
        for mark in ViewedPlace.Mark.allCases where mark != .writable {
            let found = steps((mark, "/srv/w"), (.kept, "/srv/w/ca.pem"))
            #expect(!found.contains(.keep("/srv/w/ca.pem")), "\(mark)")
        }
        let view = ConfinedView([ViewedPlace(.writable, "/w"), ViewedPlace(.kept, "/w/ca.pem")])
        #expect(!view.isAbsent("/w/ca.pem") && !view.isWritable("/w/ca.pem"))
    }

    @Test func `the first mark of a path stays`() {
        let view = ConfinedView([ViewedPlace(.absent, "/a"), ViewedPlace(.writable, "/a")])
        #expect(view.mark(of: "/a/b") == .absent && view.places.count == 1)
        #expect(!view.isWritable("/a") && view.mark(of: "/ab") == nil)
    }

    @Test(arguments: ViewedPlace.Mark.allCases)
    func `a place is one argument of a command`(_ mark: ViewedPlace.Mark) {
        let place = ViewedPlace(mark, "/a: b/c")
        #expect(ViewedPlace(place.text) == place)
        #expect(ViewedPlace("\(mark.rawValue):relative") == nil)
    }

    @Test func `only what the table names of a home is there`() {
        let home = HomeTable.places(of: "/h", .readOnly) { _ in true }
        let view = ConfinedView(home)
        for name in [
            ".ssh/id", ".npmrc", ".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".gnupg",
            ".mozilla/x", ".local/share/keyrings/x", ".docker/config.json", ".kube/config", ".new",
        ] {
            #expect(view.mark(of: "/h/\(name)") == .dotless, "\(name)")
        }
        for name in [".cargo/credentials.toml", ".m2/settings.xml", ".config/git/credentials"] {
            #expect(view.mark(of: "/h/\(name)") == .absent, "\(name)")
        }
        #expect(view.mark(of: "/h/.cache/mozilla") == .fresh)
        #expect(view.mark(of: "/h/.cache/pip/x") == .dropped)
        #expect(view.mark(of: "/h/.cargo/bin/cargo") == .shown)
        #expect(view.mark(of: "/h/documents") == nil && !view.isWritable("/h/documents"))
    }

    @Test func `a folder that a variable names is as that of the home`() {
        func view(_ folder: String) -> ConfinedView {
            ConfinedView(VariableTable.places(of: folder, at: "/v") { _ in true })
        }
        #expect(view(".cargo").mark(of: "/v/credentials.toml") == .absent)
        #expect(view(".cargo").mark(of: "/v/registry/x") == .dropped)
        #expect(view(".cargo").mark(of: "/v/bin") == nil)
        #expect(view(".gradle").mark(of: "/v/caches") == .dropped)
        for name in ["gradle.properties", "init.gradle", "init.d/x"] {
            #expect(view(".gradle").mark(of: "/v/\(name)") == .absent, "\(name)")
        }
        #expect(view(".npm").mark(of: "/v/_cacache") == .dropped)
        #expect(view(".npm").mark(of: "/v/_logs/x") == .fresh)
        #expect(view(".nuget/packages").mark(of: "/v/x") == .dropped)
        #expect(view("go").mark(of: "/v/pkg/x") == .dropped && view("go").mark(of: "/v/src") == nil)
        #expect(view(".cache/huggingface").mark(of: "/v/token") == .absent)
        #expect(view(".cache/huggingface").mark(of: "/v/hub") == nil)
        #expect(view(".rustup").places.isEmpty)
    }

    @Test func `a variable is a list of paths`() {
        #expect(VariableTable.paths(in: "/a:~/b::c", home: "/h") == ["/a", "/h/b", "c"])
        #expect(VariableTable.paths(in: "", home: "/h").isEmpty)
    }

    @Test func `copies of secrets, and credentials by their usual names, are found`() {
        let folders = [
            "/h/.m2": ["settings.xml", "settings.xml.bak", ".settings.xml.swp", "repository"],
            "/h/.cargo": ["bin", "credentials.toml~", "config.toml", ".env"],
            "/h/.npm": [".npmrc", "_cacache"], "/h/.yarn": [".yarnrc.yml"],
            "/h/.nvm": [".npmrc", ".env.local", "nvm.sh"], "/h/.pyenv": [".netrc", "bin"],
            "/h": [".npmrc", ".env"], "/h/work": [".env"], "/h/.nvm/below": [".env"],
        ]
        let found = CredentialCopies.paths(at: "/h") { folders[$0] ?? [] }
        #expect(
            Set(found) == [
                "/h/.m2/settings.xml.bak", "/h/.m2/.settings.xml.swp",
                "/h/.cargo/credentials.toml~", "/h/.cargo/.env", "/h/.npm/.npmrc",
                "/h/.yarn/.yarnrc.yml", "/h/.nvm/.npmrc", "/h/.nvm/.env.local", "/h/.pyenv/.netrc",
            ]
        )
        let elsewhere = CredentialCopies.paths(of: ".cargo", at: "/h/.cargo") { folders[$0] ?? [] }
        #expect(Set(elsewhere) == ["/h/.cargo/credentials.toml~", "/h/.cargo/.env"])
    }

    @Test func `settings have copies, too`() {
        let names = ["config", "config.toml", "config.toml.bak", "bin"]
        let found = CredentialCopies.copies(of: "/h/.cargo/config.toml") { _ in names }
        #expect(found == ["/h/.cargo/config.toml.bak"])
    }
}
