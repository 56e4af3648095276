// Commands for a Redis server and the replies that a task waits for.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

/// Waits without a task for the replies to a query.
protocol RedisAsker: AnyObject {
    /// All replies have arrived, or none will.
    func queryIsOver(_ query: RedisQuery)
    /// A task has to wait for the replies: they take long, or come from elsewhere.
    func queryNeedsTask(_ query: RedisQuery)
}

/// Some commands that belong together, and their replies; confined to its worker's loop.
package final class RedisQuery {
    let commands: RedisCommands
    /// The key that says which node of a cluster is asked; nil for a command about the server.
    let key: [UInt8]?
    /// nil until all have come.
    private(set) var replies: [RedisReply]?
    /// There will be no replies: the connection broke, or the server can't answer.
    private(set) var hasFailed = false
    /// nil when no task waits.
    private var slot: ParkingSlot?
    /// nil when a task waits, or nothing.
    private var asker: (any RedisAsker)?
    /// When waiting ends, in µs of the loop's clock.
    let deadline: UInt64
    /// When a task must take over from the asker, in µs of the loop's clock.
    private(set) var taskDeadline = UInt64.max
    /// How often it was sent to another node.
    var redirections = 0
    /// The node that was asked last, and when, in µs of the loop's clock.
    var asked: RedisTarget?
    var askedAt: UInt64 = 0
    /// Sent to a node that is importing the slot: an ASKING precedes each command.
    var isAsking = false

    /// How many replies to expect.
    var replyCount: Int { isAsking ? commands.count * 2 : commands.count }
    /// Called once when the query is over, in addition to waking the task.
    private let whenOver: ((RedisQuery) -> Void)?

    init(
        _ commands: RedisCommands,
        key: [UInt8]?,
        slot: ParkingSlot? = nil,
        until deadline: UInt64 = .max,
        whenOver: ((RedisQuery) -> Void)? = nil
    ) {
        self.commands = commands
        self.key = key
        self.slot = slot
        self.deadline = deadline
        self.whenOver = whenOver
    }

    /// A command about the server.
    convenience init(_ command: RedisCommands, whenOver: ((RedisQuery) -> Void)? = nil) {
        self.init(command, key: nil, whenOver: whenOver)
    }

    /// `asker` waits for the replies; at `taskDeadline` a task takes over.
    func wait(_ asker: any RedisAsker, until taskDeadline: UInt64) {
        self.asker = asker
        self.taskDeadline = taskDeadline
    }

    /// Whether a task must take over at that time.
    var hasAsker: Bool { asker != nil }

    /// Tells the asker to get a task, at most once.
    func promote() { asker.take()?.queryNeedsTask(self) }

    /// A task waits in `slot` from now on.
    func wait(in slot: ParkingSlot) {
        asker = nil
        self.slot = slot
    }

    /// Whether the replies are still to come.
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
        asker.take()?.queryIsOver(self)
    }

    /// The task stops waiting.
    func leave() { slot = nil }
}

/// A node, and whether TLS leads to it.
struct RedisTarget: Hashable, Sendable {
    var endpoint: SharedServer.Endpoint
    var isSecure: Bool

    /// The form in which a cluster names its nodes.
    var address: NodeAddress {
        switch endpoint {
        case .network(let host, let port): NodeAddress(host: host.text, port: port)
        case .path: NodeAddress(host: "localhost", port: 0)
        }
    }

    /// Text for people.
    var text: String {
        switch endpoint {
        case .network(let host, let port): "\(host.uriText):\(port)"
        case .path(let path): path
        }
    }
}
