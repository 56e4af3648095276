// Where the lupins of one user on one machine find each other, whatever their environment says.
import LupinCore
import LupinIO
import LupinTLS

/// A folder with one socket for each lupin of this user that runs.
///
/// It lies where the user's number leads, and not where variables point: a lupin that is started by
/// a service manager and one of a shell have different variables.
package enum SiblingFolder {
    /// Sockets that are asked; more are nobody's doing but this user's own.
    private static let socketsMax = 64

    /// `.local/state/lupin/siblings` below the user's home, and `lupin` below `/run/user/NUMBER`,
    /// where the system makes that: a lupin is in the first where it can be, and looks into both.
    package static var ofThisUser: [String] {
        let home = ProcessOwner.accountHome.map { "\($0)/.local/state/lupin/siblings" }
        let runtime = "/run/user/\(ProcessOwner.userNumber)"
        return [home, LocalSocket.isOwnFolder(runtime) ? "\(runtime)/lupin" : nil].compactMap(
            \.self
        )
    }

    /// The sockets of this machine in it.
    /// - Throws: Why they are not known.
    static func sockets(in folder: String) throws(SystemError) -> [String] {
        try LocalSocket.names(in: folder).filter { $0.hasSuffix(suffix) }
            .prefix(socketsMax)
            .map { "\(folder)/\($0)" }
    }

    /// The sockets of the others, without the one of the lupin that is called so in `Via`; nil
    /// where they are not known.
    static func siblings(of pseudonym: String, in folders: [String]) -> [String]? {
        try? folders.flatMap { folder in
            let own = "\(folder)/\(socketName(of: pseudonym))"
            return try sockets(in: folder).filter { $0 != own }
        }
    }

    /// What the socket of a lupin is called that `Via` calls so.
    package static func socketName(
        of pseudonym: String,
        process: Int32 = ProcessOwner.processNumber
    ) -> String {
        "\(process)-\(pseudonym)\(suffix)"
    }

    /// The number of the process that made the socket.
    static func process(of socket: String) -> Int32 {
        let name = socket.split(separator: "/").last ?? ""
        let digits = name.prefix { $0 != "-" }
        let number = NumberReader.unsigned(digits, max: UInt64(Int32.max)) ?? 0
        return Int32(truncatingIfNeeded: number)
    }

    /// A home may be that of other machines too, whose sockets nobody here can ask.
    private static let suffix: String = {
        let digest = MessageDigest.sha256("lupin \(ProcessOwner.machine)".utf8.span)
        let digits = digest.prefix(6).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }
        return "@\(digits.joined()).sock"
    }()
}

extension SocketAddress {
    /// As its description writes it.
    fileprivate init?(_ text: some StringProtocol) {
        guard let (address, port) = AuthorityText.listener(text) else { return nil }
        self.init(address: address, port: port)
    }
}

/// What a lupin says of a connection that one of its siblings asks about.
enum SiblingAnswer: Equatable, Sendable {
    /// It is not one of its connections.
    case other
    /// It goes by it, for a client whom it does not know.
    case unknown
    /// It goes by it, for a client of this user.
    case user(UInt32)

    /// One line, without its end.
    var text: String {
        switch self {
        case .other: "other"
        case .unknown: "unknown"
        case .user(let number): "user \(number)"
        }
    }

    init?(_ text: some StringProtocol) {
        switch text {
        case "other": self = .other
        case "unknown": self = .unknown
        default:
            let prefix = "user "
            guard text.hasPrefix(prefix),
                let number = NumberReader.unsigned(
                    text.dropFirst(prefix.count),
                    max: UInt64(UInt32.max)
                )
            else { return nil }
            self = .user(UInt32(truncatingIfNeeded: number))
        }
    }
}

/// A connection within this machine, as the one who accepted it sees it.
struct SiblingQuestion: Equatable, Sendable {
    /// The end of who connected.
    var peer: SocketAddress
    /// The end of who accepted.
    var local: SocketAddress

    /// One line, without its end.
    var text: String { "\(peer) \(local)" }

    /// Lines of either kind are no longer.
    static let lineBytesMax = 160
}

extension SiblingQuestion {
    init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let peer = SocketAddress(words[0]),
            let local = SocketAddress(words[1])
        else { return nil }
        self.init(peer: peer, local: local)
    }
}
