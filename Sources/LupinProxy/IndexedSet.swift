// The members of a worker: its connections, and the exchanges under way.

/// A member that stores its own index in a roster.
protocol IndexedMember: AnyObject {
    /// The index; `nowhere` while the member is in no roster.
    var indexInSet: Int { get set }
}

extension IndexedMember {
    static var nowhere: Int { -1 }
}

/// An unordered collection with constant-time insertion and removal.
///
/// Every change moves the array out and back, which avoids the run-time exclusivity check.
final class IndexedSet<Member: IndexedMember> {
    private var members: [Member] = []

    var count: Int { members.count }
    var isEmpty: Bool { members.isEmpty }
    /// All members at this moment.
    var all: [Member] { members }

    /// Adds a member; does nothing when it is in a roster already.
    func add(_ member: Member) {
        guard member.indexInSet == Member.nowhere else { return }
        var members: [Member] = []
        swap(&members, &self.members)
        member.indexInSet = members.count
        members.append(member)
        swap(&members, &self.members)
    }

    /// Removes a member; returns false when it was in no roster.
    func remove(_ member: Member) -> Bool {
        let index = member.indexInSet
        guard index != Member.nowhere else { return false }
        member.indexInSet = Member.nowhere
        var members: [Member] = []
        swap(&members, &self.members)
        let last = members.removeLast()
        if last !== member {
            members[index] = last
            last.indexInSet = index
        }
        swap(&members, &self.members)
        return true
    }
}
