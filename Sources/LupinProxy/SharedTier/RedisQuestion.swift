// Commands for a Redis server and the replies that a task waits for.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

/// Waits for the replies to a question without a task.
protocol RedisAsker: AnyObject {
    /// All replies are there, or there will be none.
    func questionIsOver(_ question: RedisQuestion)
    /// A task has to wait for the replies: they take long, or come from elsewhere.
    func questionNeedsTask(_ question: RedisQuestion)
}

/// Some commands that belong together, and their replies; confined to its worker's loop.
final class RedisQuestion {
    let commands: RedisCommands
    /// The key that says which node of a cluster is asked; nil for a command about the server.
    let key: [UInt8]?
    /// nil until all have come.
    private(set) var replies: [RedisReply]?
    /// There will be no replies: the connection broke, or the server can't answer.
    private(set) var hasFailed = false
    /// nil when no task waits, or none any more.
    private var slot: ParkingSlot?
    /// nil when a task waits, or nothing does.
    private var asker: (any RedisAsker)?
    /// When nobody waits any more, in µs of the loop's clock.
    let deadline: UInt64
    /// When the asker needs a task, in µs of the loop's clock.
    private(set) var patience = UInt64.max
    /// How often it was sent to another node.
    var redirections = 0
    /// The node that was asked last, and when, in µs of the loop's clock.
    var asked: RedisTarget?
    var askedAt: UInt64 = 0
    /// Sent to a node that is taking the slot over: each command is behind an ASKING.
    var isAsking = false

    /// How many replies come.
    var replyCount: Int { isAsking ? commands.count * 2 : commands.count }
    /// Called once with the question when it is over, besides waking the task.
    private let whenOver: ((RedisQuestion) -> Void)?

    init(
        _ commands: RedisCommands,
        key: [UInt8]?,
        slot: ParkingSlot? = nil,
        until deadline: UInt64 = .max,
        whenOver: ((RedisQuestion) -> Void)? = nil
    ) {
        self.commands = commands
        self.key = key
        self.slot = slot
        self.deadline = deadline
        self.whenOver = whenOver
    }

    /// A command about the server.
    convenience init(_ command: RedisCommands, whenOver: ((RedisQuestion) -> Void)? = nil) {
        self.init(command, key: nil, whenOver: whenOver)
    }

    /// Has `asker` wait, and a task from `patience` on.
    func wait(_ asker: any RedisAsker, until patience: UInt64) {
        self.asker = asker
        self.patience = patience
    }

    /// Whether a task has to be called once patience is over.
    var hasAsker: Bool { asker != nil }

    /// Has the asker call a task, once at most.
    func promote() { asker.take()?.questionNeedsTask(self) }

    /// A task waits in `slot` from now on.
    func wait(in slot: ParkingSlot) {
        asker = nil
        self.slot = slot
    }

    /// Whether replies are still to come.
    var isOpen: Bool { !hasFailed && replies == nil }

    func finish(_ replies: [RedisReply]) {
        guard isOpen else { return }
        self.replies = replies
        end()
    }

    func fail() {
        guard isOpen else { return }
        hasFailed = true
        end()
    }

    private func end() {
        slot?.wake(.answered)
        whenOver?(self)
        asker.take()?.questionIsOver(self)
    }

    /// Nobody waits any more.
    func leave() { slot = nil }
}

/// A node, and whether TLS leads to it.
struct RedisTarget: Hashable, Sendable {
    var place: SharedServer.Place
    var isSecure: Bool

    /// As a node of a cluster is told.
    var address: NodeAddress {
        switch place {
        case .network(let host, let port): NodeAddress(host: host.text, port: port)
        case .path: NodeAddress(host: "localhost", port: 0)
        }
    }

    /// Text for people.
    var text: String {
        switch place {
        case .network(let host, let port): "\(host.uriText):\(port)"
        case .path(let path): path
        }
    }
}
