// Whether a group is one user's alone, as most distributions make one for every user.

package enum PrivateGroup {
    /// Whether a group has no members but the user and root.
    ///
    /// A group that `groups` does not list may have any. `groups` is the text of `/etc/group`, and
    /// `users` that of `/etc/passwd`.
    package static func isPrivate(
        _ group: UInt32,
        of user: UInt32,
        groups: String,
        users: String
    ) -> Bool {
        let isMember = { (number: Substring) in number == "\(user)" || number == "0" }
        var numbers: [Substring: Substring] = [:]
        for entry in fields(of: users) where entry.count >= 4 {
            numbers[entry[0]] = entry[2]
            if entry[3] == "\(group)", !isMember(entry[2]) { return false }
        }
        let entries = fields(of: groups).filter { $0.count >= 4 && $0[2] == "\(group)" }
        return !entries.isEmpty
            && entries.allSatisfy { entry in
                entry[3].split(separator: ",").allSatisfy { numbers[$0].map(isMember) ?? false }
            }
    }

    private static func fields(of text: String) -> [[Substring]] {
        text.split(separator: "\n").map {
            $0.split(separator: ":", omittingEmptySubsequences: false)
        }
    }
}
