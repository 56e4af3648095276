// Who the users of a user namespace are outside.

/// The users that a user namespace knows, as /proc/PID/uid_map lists them.
package struct UserMap: Sendable {
    private struct Range: Sendable {
        var first: UInt64
        var outer: UInt64
        var count: UInt64
    }

    private let ranges: [Range]

    package init(table: [UInt8]) {
        ranges = String(decoding: table, as: UTF8.self).split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            let numbers = columns.compactMap { NumberReader.unsigned($0, max: 1 << 32) }
            guard columns.count == 3, numbers.count == 3 else { return nil }
            return Range(first: numbers[0], outer: numbers[1], count: numbers[2])
        }
    }

    /// Whether it leaves out no user, as outside of all user namespaces.
    package var isWhole: Bool {
        ranges.contains { $0.first == 0 && $0.outer == 0 && $0.count >= UInt64(UInt32.max) }
    }

    /// The number outside of a user with this number inside; nil for one that is not known.
    package func outer(of user: UInt32) -> UInt32? {
        let user = UInt64(user)
        let range = ranges.first { user >= $0.first && user &- $0.first < $0.count }
        return range.flatMap { UInt32(exactly: $0.outer &+ (user &- $0.first)) }
    }
}
