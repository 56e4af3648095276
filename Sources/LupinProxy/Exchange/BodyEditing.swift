// The edits of one body, run on the thread for bodies.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy

/// What the steps of a plan do to one body; a value, so that another thread can do it.
struct BodyEditing: Sendable {
    private let edits: [(summary: String, edit: BodyEdit)]
    /// The codings that come off before.
    private let codings: [String]
    /// Whether an edited body goes on without codings: lupin can undo them and not apply them.
    private let isPlain: Bool

    /// The body after the edits.
    struct Outcome: Sendable {
        /// nil where nothing has changed.
        var body: [UInt8]?
        /// Whether the body has lost its codings.
        var isPlain = false
        /// What the record says of the steps.
        var notes: [String] = []
    }

    init(_ steps: [PlannedStep], codings: [String]) {
        edits = steps.compactMap { step in
            guard case .edit(let edit) = step.step else { return nil }
            return (summary: step.summary, edit: edit)
        }
        self.codings = codings
        isPlain = codings.contains { ContentCoding($0) == nil }
    }

    /// Edits a whole body; it takes its time.
    func run(_ bytes: [UInt8]) -> Outcome {
        do throws(BodyEditProblem) {
            var outcome = Outcome()
            var body = try decoded(bytes)
            for (summary, edit) in edits {
                do throws(BodyEditProblem) {
                    guard let next = try edit.edited(body) else { continue }
                    body = next
                    outcome.body = body
                    outcome.notes.append(summary)
                } catch {
                    outcome.notes.append(Self.note(summary, error))
                }
            }
            if outcome.body != nil {
                outcome.isPlain = isPlain
                outcome.body = isPlain ? body : try encoded(body)
            }
            return outcome
        } catch {
            return dropped(error)
        }
    }

    /// The outcome where nothing is edited.
    func dropped(_ problem: BodyEditProblem) -> Outcome {
        Outcome(notes: edits.map { Self.note($0.summary, problem) })
    }

    private static func note(_ summary: String, _ problem: BodyEditProblem) -> String {
        "\(summary) (dropped: \(problem.reason))"
    }

    private func decoded(_ bytes: [UInt8]) throws(BodyEditProblem) -> [UInt8] {
        do throws(WholeBody.Problem) {
            return try WholeBody.decoded(bytes, from: codings, bytesMax: BodyEdit.bytesMax)
        } catch {
            throw BodyEditProblem(error)
        }
    }

    private func encoded(_ body: [UInt8]) throws(BodyEditProblem) -> [UInt8] {
        do throws(WholeBody.Problem) {
            return try WholeBody.encoded(body, with: codings)
        } catch {
            throw BodyEditProblem(error)
        }
    }
}

extension BodyEditProblem {
    fileprivate init(_ problem: WholeBody.Problem) {
        switch problem {
        case .unknown(let coding): self = .coding(String(coding.prefix(40)))
        case .tooLong: self = .tooLong
        case .coding(let problem): self = .damaged(problem.sentence)
        }
    }
}

extension Exchange {
    /// Puts what became of steps into the record, without secrets that a peer's name may hold.
    func note(steps notes: [String]) {
        if notes.isEmpty { return }
        record.rules.note(notes.map { resources.redactor.cleaned($0) })
    }
}
