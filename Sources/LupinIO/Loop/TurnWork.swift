// Work that a turn of the loop does step by step, for all connections together.

/// Who has something to do in a step.
package protocol TurnWork: AnyObject {
    /// Does what is due in a step, once for each time that it was asked for.
    func go(_ step: TurnStep)
}

/// The steps behind a turn's events, in their order.
///
/// A request takes 100 KiB of code, more than a processor's first cache holds. One request after
/// the other would fetch all of it every time; step by step, the code of a step is fetched once for
/// all that are ready.
package enum TurnStep {
    /// What was received is acted upon.
    case act
    /// What is over is written down.
    case record
}

/// The work of the steps to come.
struct TurnSteps {
    private var acts: [any TurnWork] = []
    private var records: [any TurnWork] = []

    var isEmpty: Bool { acts.isEmpty && records.isEmpty }

    mutating func add(_ work: any TurnWork, _ step: TurnStep) {
        switch step {
        case .act: acts.append(work)
        case .record: records.append(work)
        }
    }

    /// Takes the work of the next step that has some; `used` lends its memory for what comes.
    mutating func takeNext(_ used: inout [any TurnWork]) -> TurnStep {
        used.removeAll(keepingCapacity: true)
        if acts.isEmpty {
            swap(&used, &records)
            return .record
        }
        swap(&used, &acts)
        return .act
    }
}
