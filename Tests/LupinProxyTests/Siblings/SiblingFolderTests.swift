// Which of the sockets in the folder are of one installation.
import LupinProxy
import Testing

struct SiblingFolderTests {
    private func name(_ file: String?, state: String = "/users/ann/.local/state") -> String {
        SiblingFolder.name(
            of: "lupin-00000000",
            rulesFile: file,
            environment: ["XDG_STATE_HOME": state]
        )
    }

    @Test func `a process of the same rules file and state folder is of the same installation`() {
        let own = name("/etc/lupin/lupin.yaml")
        let sockets = [
            (own, true), (name("/users/ann/try.yaml"), false), (name(nil), false),
            (name("/etc/lupin/lupin.yaml", state: "/tmp/other"), false),
            // Of a version that did not say so.
            ("lupin-00000000", false),
        ]
        for (other, isOwn) in sockets {
            let socket = "/run/user/1000/lupin/\(SiblingFolder.socketName(of: other, process: 7))"
            #expect(SiblingFolder.isOfInstallation(of: own, socket: socket) == isOwn, "\(other)")
            #expect(!SiblingFolder.isOfInstallation(of: "lupin-00000000", socket: socket))
        }
    }

    @Test func `a lupin is called by its number as seen from here`() {
        let socket = "/run/user/1000/lupin/1-lupin-0000.sock"
        #expect(SiblingFolder.title(of: socket, process: 4321) == "the lupin of process 4321")
        #expect(SiblingFolder.title(of: socket, process: nil) == "the lupin of process 1")
        let elsewhere = SiblingFolder.title(of: socket, process: 0)
        #expect(elsewhere == "a lupin in another container, whose socket is \(socket),")
    }

    @Test func `a relative path is the same file`() {
        #expect(name("rules.yaml") != name("/rules.yaml"))
        #expect(name("rules.yaml") == name("rules.yaml"))
    }
}
