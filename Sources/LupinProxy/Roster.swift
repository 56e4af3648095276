// Who is here on a worker: its connections, and the exchanges under way.

/// Somebody who knows where he stands in a roster.
protocol Rostered: AnyObject {
    /// His place; `nowhere` while he is in none.
    var place: Int { get set }
}

extension Rostered {
    static var nowhere: Int { -1 }
}

/// Members in no order; coming and going takes a few stores.
///
/// What it holds is moved out and back for every change, which spares run-time checks of
/// exclusivity.
final class Roster<Member: Rostered> {
    private var members: [Member] = []

    var count: Int { members.count }
    var isEmpty: Bool { members.isEmpty }
    /// All of them, as of now.
    var all: [Member] { members }

    /// Adds who is in none yet.
    func add(_ member: Member) {
        guard member.place == Member.nowhere else { return }
        var members: [Member] = []
        swap(&members, &self.members)
        member.place = members.count
        members.append(member)
        swap(&members, &self.members)
    }

    /// False where he was in none.
    func remove(_ member: Member) -> Bool {
        let place = member.place
        guard place != Member.nowhere else { return false }
        member.place = Member.nowhere
        var members: [Member] = []
        swap(&members, &self.members)
        let last = members.removeLast()
        if last !== member {
            members[place] = last
            last.place = place
        }
        swap(&members, &self.members)
        return true
    }
}
