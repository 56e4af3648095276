// What lupin processes ask each other, and how they answer.
import LupinCore
import LupinIO

extension SocketAddress {
    /// Parses the format of `description`.
    fileprivate init?(_ text: some StringProtocol) {
        guard let (address, port) = AuthorityText.listener(text) else { return nil }
        self.init(address: address, port: port)
    }
}

/// A lupin's answer about a connection or a listener that another one asks about.
enum SiblingAnswer: Equatable, Sendable {
    /// It is not its own.
    case other
    /// It holds the connection, for a client that it does not know; or the listener is its own.
    case unknown
    /// It holds the connection, for a client of the user with this number.
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

/// A connection within this machine, as seen by the process that accepted it.
struct SiblingQuery: Equatable, Sendable {
    /// The address of the connecting end.
    var peer: SocketAddress
    /// The address of the accepting end.
    var local: SocketAddress

    /// One line, without its end.
    var text: String { "\(peer) \(local)" }

    /// The maximum length of a line, of question or answer.
    static let lineBytesMax = 160
}

extension SiblingQuery {
    init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let peer = SocketAddress(words[0]),
            let local = SocketAddress(words[1])
        else { return nil }
        self.init(peer: peer, local: local)
    }
}

/// A socket that accepts connections on this machine.
struct ListenerQuestion: Equatable, Sendable {
    /// What the kernel calls it.
    var inode: UInt64

    /// One line, without its end.
    var text: String { "\(Self.prefix)\(inode)" }

    private static let prefix = "listener "
}

extension ListenerQuestion {
    init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix),
            let inode = NumberReader.unsigned(text.dropFirst(Self.prefix.count))
        else { return nil }
        self.init(inode: inode)
    }
}

extension SiblingAnswer {
    /// The time limit for all answers; the other processes ask their workers.
    static let timeout = Duration.seconds(1)

    /// The answer of the lupin of `user` at a name in this network; nil when none comes in time.
    static func to(
        _ line: String,
        at name: String,
        of user: UInt32,
        _ deadline: UInt64,
        on loop: EventLoop
    ) async -> SiblingAnswer? {
        await to(line, of: user, deadline, on: loop) { loop throws(SystemError) in
            try LocalSocket.connect(toName: name, on: loop)
        }
    }

    /// The answer of a sibling; nil when none comes in time.
    static func to(
        _ line: String,
        of user: UInt32,
        _ deadline: UInt64,
        on loop: EventLoop,
        _ connect: (EventLoop) throws(SystemError) -> Channel
    ) async -> SiblingAnswer? {
        let channel: Channel
        do throws(SystemError) {
            channel = try connect(loop)
        } catch {
            // A dead socket has no process; a busy process may hold the connection.
            return error.isAbsence || error.isRefusal ? .other : nil
        }
        let waiting = ParkingSlot(on: loop)
        defer {
            channel.close()
            waiting.retire()
        }
        // Whoever else listens there can't be a lupin of that user.
        guard LocalSocket.user(of: channel) == user else { return .other }
        channel.slot = waiting
        channel.readableReason = .downstreamReadable
        channel.stage { $0.append(contentsOf: "\(line)\n".utf8) }
        guard (try? channel.flush()) == true else { return nil }
        let answer = await channel.line(in: waiting, until: deadline)
        return answer.flatMap { SiblingAnswer($0) }
    }
}
