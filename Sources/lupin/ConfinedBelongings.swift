// What of lupin's is kept from a confined command: its own, and that of all others that run.
import LupinIO
import LupinPolicy
import LupinProxy

/// All that the lupins of this user read and keep, the one that confines among them.
struct ConfinedBelongings {
    private(set) var all: [Belonging]
    /// Those of lupins that go on: what comes to be there is theirs.
    private(set) var lasting: Set<Belonging> = []
    /// Where one looks for files without being told; they need not be there.
    let folders: [String]

    /// - Parameters:
    ///   - configuration: That of the command's proxy, with `admin` as it is written.
    ///   - environment: The variables of this process.
    /// - Throws: When a lupin that runs doesn't say what it keeps.
    init(
        _ configuration: Configuration,
        _ environment: [String: String]
    ) throws(ConfinedRefusal) {
        guard !ProcessOwner.isUnknownOutside else {
            throw ConfinedRefusal(
                message: "lupin runs in a user namespace that lies in another one, so it can't "
                    + "know whose lupins run outside, and keep their files from the command; run "
                    + "it outside of both, or in one alone"
            )
        }
        all = configuration.belongings(environment)
        let homes = [ProcessOwner.accountHome, ProcessOwner.outerHome].compactMap(\.self)
        let accounts = homes.flatMap { UserFolder.all(["HOME": $0]) }
        folders = (UserFolder.all(environment) + accounts).map { "\($0)/lupin" }
        all += folders.map { Belonging(.kept, $0) }
        let siblings = SiblingFolder.ofThisUser + SiblingFolder.ofOuterUser
        all += siblings.map { Belonging(.kept, $0) }
        // Where one would listen, and would read its rules, without any variable or file.
        all += Configuration.defaults.belongings(environment).filter { $0.kind == .socket }
        let sockets: [String]
        do throws(SystemError) {
            sockets = try SiblingFolder.all()
        } catch {
            throw ConfinedRefusal(
                message: "the lupins that run can't be found: \(error.message)"
            )
        }
        // One that a service manager started may have no folder for that.
        if let running = RunningLupin.find(socket: nil)?.rules.file {
            let belonging = Belonging(.watched, running)
            all.append(belonging)
            lasting.insert(belonging)
        }
        var answering: [String] = []
        for socket in sockets where try addAnswer(at: socket) { answering.append(socket) }
        // One in a container or a user namespace has its socket elsewhere, or none.
        let network = NetworkNames(of: "", in: SiblingFolder.ofThisUser)
        guard let names = network.ofThisUser(besides: answering) else {
            throw ConfinedRefusal(
                message: "the lupins that run can't be found: the kernel does not tell all names "
                    + "of unix sockets, or more than \(NetworkNames.countMax) are lupin's"
            )
        }
        for name in names { _ = try addAnswer(at: name, isAbstract: true) }
    }

    /// Adds what the lupin at a socket keeps.
    /// - Returns: Whether there is one.
    private mutating func addAnswer(
        at socket: String,
        isAbstract: Bool = false
    ) throws(ConfinedRefusal) -> Bool {
        let title = {
            SiblingFolder.title(
                of: isAbstract ? "@\(socket)" : socket,
                process: LocalSocket.process(at: socket, isAbstract: isAbstract)
            )
        }
        switch Belonging.ask(at: socket, isAbstract: isAbstract) {
        case nil: return false
        case .belongings(let others):
            all += others
            lasting.formUnion(others.filter(\.kind.isLasting))
            return true
        case .unknown:
            throw ConfinedRefusal(
                message: "\(title()) does not say which files it keeps, "
                    + "as one of another version does, so they can't be kept from the command; "
                    + "end or restart it"
            )
        case .refused:
            throw ConfinedRefusal(
                message: "\(title()) runs in another network and another user "
                    + "namespace, and tells nobody there which files it keeps, so they can't be "
                    + "kept from the command; run it where that lupin runs, or end that"
            )
        case .silent:
            throw ConfinedRefusal(
                message: "\(title()) does not answer, so its files can't "
                    + "be kept from the command: where it just begins or ends, try again, "
                    + "else end it"
            )
        }
    }
}
