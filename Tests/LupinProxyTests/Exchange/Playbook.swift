// The language of playbooks, scripts of exchanges without sockets: this happens, that is needed,
// and this is done next.
import LupinCore
import LupinProxy
import Testing

/// What may happen to an exchange in one of its phases.
enum Happening: Sendable {
    case arrives(Method = .get, password: Bool = false, program: Bool = false)
    case arrivesWaiting(Method = .get, webSocket: Bool = false, expects: Bool = false)
    case isAdmitted
    /// The rules were matched.
    case matches(RequestHandler, demands: Demand = .nothing, owner: Bool = false)
    /// Path and user are right, or the user has still to be asked for.
    case passes(RequestHandler, owner: Bool = false)
    /// Memory has nothing for the request; the store of all machines was asked, or not.
    case memoryMisses(asksOthers: Bool = false)
    /// The cache or a tunnel asks for a response.
    case callerAsks
    case isPrepared
    case wantsConnection(upgrade: Bool = false)
    case isSent
    case breaks
    case isDecided(Course.Decision)
    case isPresented
    case bodyWaits(clientGone: Bool = false, uploadFailed: Bool = false)
    case bodyEnds
    case clientIsServed(uploadGoesOn: Bool = false)
    case fails
    case isEnclosed
    case ends
    /// A task takes the exchange over.
    case isPromoted

    /// What a plan demands, or the settings.
    enum Demand: Sendable { case nothing, steps, delay, shortTimeout, file }
}

/// A script: what happens, what is needed then, and the phase in which the exchange is.
struct Playbook: Sendable, CustomTestStringConvertible {
    struct Line: Sendable {
        let happening: Happening
        let need: Need?
        let phase: Phase
    }

    let name: String
    /// Whether events drive it at first.
    let isTaskless: Bool
    let lines: [Line]

    var testDescription: String { name }

    init(_ name: String, byEvents isTaskless: Bool = true, _ parts: [Line]...) {
        self.name = name
        self.isTaskless = isTaskless
        lines = parts.flatMap { $0 }
    }
}

/// The line of a script: what happens, the phase in which the exchange is then, and what it needs;
/// nil when it goes on.
func on(_ happening: Happening, _ phase: Phase, needs need: Need? = nil) -> Playbook.Line {
    Playbook.Line(happening: happening, need: need, phase: phase)
}

extension Playbook {
    // MARK: Parts of scripts

    /// From the request to the phase that gives the response.
    static func begins(_ handler: RequestHandler, with method: Method = .get) -> [Line] {
        let phase: Phase =
            switch handler {
            case .tunnel: .tunnelling
            case .rule: .answering
            case .cache: .lookingUp
            case .origin: .preparing
            case .tape, .purge: .over
            }
        return [
            on(.arrives(method), .arrived), on(.isAdmitted, .matched),
            on(.matches(handler), .matched), on(.passes(handler), phase),
        ]
    }

    /// From the request to the wait for the response, over a connection that is there.
    static let sends =
        begins(.origin) + [
            on(.isPrepared, .connecting), on(.wantsConnection(), .connecting),
            on(.isSent, .awaiting),
        ]

    /// The same in a task, which makes the connection and waits for the response.
    static func triesInTask(_ before: [Line]) -> [Line] {
        before + [
            on(.isPrepared, .connecting), on(.wantsConnection(), .connecting, needs: .connection),
        ]
    }

    /// A response to its end.
    static let relays: [Line] = [on(.isPresented, .relaying)] + ends
    static let ends: [Line] = [on(.bodyEnds, .finishing), on(.clientIsServed(), .over)]

    /// What the client gets in a task, which waits for its end.
    static let delivers: [Line] = [on(.isDecided(.deliver), .delivering), on(.ends, .over)]
}
