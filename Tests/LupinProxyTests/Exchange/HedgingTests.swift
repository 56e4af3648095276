// Which of several attempts that run beside each other wins, by values alone.
import LupinProxy
import Testing

struct HedgingTests {
    /// Every state of an attempt's own end, and of up to three hedges beside it.
    private static let states: [(own: Race.Standing, hedges: [Race.Standing])] = {
        let standings: [Race.Standing] = [.underWay, .good, .bad, .none]
        var lists: [[Race.Standing]] = [[]]
        for _ in 0..<3 {
            lists += lists.flatMap { list in standings.map { list + [$0] } }
        }
        return [Race.Standing.good, .bad, .none].flatMap { own in lists.map { (own, $0) } }
    }()

    @Test func `a good response of its own wins at once`() {
        for state in Self.states where state.own == .good {
            #expect(!Race.isOpen(state.own, state.hedges))
            #expect(Race.winner(against: state.own, state.hedges) == nil)
        }
    }

    @Test func `else the first good hedge wins, without waiting for others`() {
        for state in Self.states where state.own != .good && state.hedges.contains(.good) {
            #expect(!Race.isOpen(state.own, state.hedges))
            let winner = Race.winner(against: state.own, state.hedges)
            #expect(winner == state.hedges.firstIndex(of: .good))
        }
    }

    @Test func `while a hedge may bring a good response it is waited for`() {
        for state in Self.states where state.own != .good && !state.hedges.contains(.good) {
            let isOpen = Race.isOpen(state.own, state.hedges)
            #expect(isOpen == state.hedges.contains(.underWay))
        }
    }

    @Test func `a bad response is better than none, and its own better than a hedge's`() {
        for state in Self.states {
            if state.hedges.contains(.good) || state.hedges.contains(.underWay) { continue }
            let winner = Race.winner(against: state.own, state.hedges)
            switch state.own {
            case .good, .bad, .underWay: #expect(winner == nil)
            case .none: #expect(winner == state.hedges.firstIndex(of: .bad))
            }
        }
    }
}
