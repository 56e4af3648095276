// The folder where the lupin processes of one user on one machine find each other.
import LupinCore
package import LupinIO
import LupinTLS

/// A folder with one socket for each running lupin process of this user.
///
/// Its path follows from the user's number and not from variables: a lupin that a service manager
/// starts and one of a shell have different variables.
package enum SiblingFolder {
    /// `.local/state/lupin/siblings` below the user's home, and `lupin` below `/run/user/NUMBER`,
    /// if the system creates that: a lupin listens in the first that works, and looks into both.
    package static var ofThisUser: [String] {
        folders(of: ProcessOwner.userNumber, home: ProcessOwner.accountHome)
    }

    /// The same for the user outside a user namespace, as `unshare -r` makes one; empty where that
    /// is the same user, or one without a home here, as in a container.
    package static var ofOuterUser: [String] {
        guard let user = ProcessOwner.outerUserNumber else { return [] }
        return folders(of: user, home: ProcessOwner.outerHome)
    }

    private static func folders(of user: UInt32, home: String?) -> [String] {
        let home = home.map { "\($0)/.local/state/lupin/siblings" }
        let runtime = "/run/user/\(user)"
        return [home, LocalSocket.isOwnFolder(runtime) ? "\(runtime)/lupin" : nil].compactMap(
            \.self
        )
    }

    /// The sockets of this machine in the folder.
    /// - Throws: Why they can't be read.
    package static func sockets(in folder: String) throws(SystemError) -> [String] {
        try LocalSocket.names(in: folder).filter { $0.hasSuffix(suffix) }
            .map { "\(folder)/\($0)" }
    }

    /// The sockets of all lupins of this user that there are.
    package static func all() throws(SystemError) -> [String] {
        let isInNamespace = ProcessOwner.outerUserNumber != nil
        var paths: [String] = []
        for folder in ofThisUser {
            do throws(SystemError) {
                paths += try sockets(in: folder)
            } catch {
                // That of the machine's root, say: no lupin of the user outside has its socket
                // where that user can't look.
                guard isInNamespace, error.isDenial else { throw error }
            }
        }
        for folder in ofOuterUser { paths += try sockets(in: folder) }
        return paths
    }

    /// The marks of this machine's listeners in the folders, by name; nil when they can't be read.
    static func marks(in folders: [String]) -> [String]? {
        try? folders.flatMap { folder throws(SystemError) in
            try LocalSocket.names(in: folder).filter { $0.contains(markInfix) }
        }
    }

    /// Removes the marks of processes that ended without stopping: a process has its socket before
    /// its first mark, and until after its last one.
    static func removeDeadMarks(in folder: String) {
        for mark in marks(in: [folder]) ?? [] {
            guard let end = mark.firstRange(of: markInfix)?.lowerBound else { continue }
            let socket = "\(folder)/\(mark[..<end])\(suffix)"
            if !LocalSocket.exists(socket) { LocalSocket.removeMark(at: "\(folder)/\(mark)") }
        }
    }

    /// The name of a process in the folder: its pseudonym in `Via`, and a digest of what makes its
    /// installation, the rules file and the folder for what is kept.
    package static func name(
        of pseudonym: String,
        rulesFile: String?,
        environment: [String: String]
    ) -> String {
        let file = rulesFile.map { $0.hasPrefix("/") ? $0 : "\(ProcessOwner.directory)/\($0)" }
        let state = environment["XDG_STATE_HOME"] ?? ProcessOwner.home(environment)
        return "\(pseudonym).\(digits(of: "\(file ?? "")\n\(state ?? "")", count: 2))"
    }

    /// Whether a socket is of the same installation as the process with this name.
    package static func isOfInstallation(of name: String, socket: String) -> Bool {
        let installation = name.drop { $0 != "." }
        return socket.hasSuffix("\(installation)\(suffix)") && !installation.isEmpty
    }

    /// Removes the marks, and then the socket, of this process with this name.
    static func removeFiles(of name: String, in folders: [String]) {
        let socket = socketName(of: name)
        let prefix = socket.dropLast(suffix.count) + markInfix
        for folder in folders {
            for mark in marks(in: [folder]) ?? [] where mark.hasPrefix(prefix) {
                LocalSocket.removeMark(at: "\(folder)/\(mark)")
            }
            LocalSocket.removeMark(at: "\(folder)/\(socket)")
        }
    }

    /// The sockets of the other processes, without that of the process with this name; nil
    /// when they can't be read.
    static func siblings(of name: String, in folders: [String]) -> [String]? {
        try? folders.flatMap { folder in
            let own = "\(folder)/\(socketName(of: name))"
            return try sockets(in: folder).filter { $0 != own }
        }
    }

    /// The name of the socket of a process with this name.
    package static func socketName(
        of name: String,
        process: Int32 = ProcessOwner.processNumber
    ) -> String {
        "\(process)-\(name)\(suffix)"
    }

    /// The name of the mark for a listening socket of that process.
    static func markName(of name: String, inode: UInt64) -> String {
        "\(ProcessOwner.processNumber)-\(name)\(markInfix)\(inode)"
    }

    /// The number of the process that made the socket.
    package static func process(of socket: String) -> Int32 {
        let name = socket.split(separator: "/").last ?? ""
        let digits = name.prefix { $0 != "-" }
        let number = NumberReader.unsigned(digits, max: UInt64(Int32.max)) ?? 0
        return Int32(truncatingIfNeeded: number)
    }

    /// What a person calls the lupin at a socket whose process has this number here; nil where the
    /// kernel doesn't tell.
    ///
    /// The number in the name is that of the lupin's own pid namespace: often 1 in a container.
    package static func title(of socket: String, process: Int32?) -> String {
        let process = process ?? self.process(of: socket)
        return process == 0
            ? "a lupin in another container, whose socket is \(socket),"
            : "the lupin of process \(process)"
    }

    /// The pseudonym of the process that made the socket.
    package static func pseudonym(of socket: String) -> Substring {
        let name = socket.split(separator: "/").last ?? ""
        return name.drop { $0 != "-" }.dropFirst().prefix { $0 != "." && $0 != "@" }
    }

    private static let suffix = "\(machine).sock"
    private static let markInfix = "\(machine).listener-"

    /// Other machines may share the home; their sockets can't be reached from here.
    private static let machine: String = {
        "@\(digits(of: "lupin \(ProcessOwner.machine)", count: 6))"
    }()

    /// The first bytes of a digest of `text`, in hexadecimal digits.
    private static func digits(of text: String, count: Int) -> String {
        let digits = MessageDigest.sha256(text.utf8.span).prefix(count).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }
        return digits.joined()
    }
}
