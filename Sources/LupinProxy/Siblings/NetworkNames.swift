// The names at which the lupin processes of one network find each other.
import LupinCore
import LupinIO

/// Where a lupin answers others about its clients: a name without a file in its network.
///
/// A connection within the machine has both its ends in one network, so whoever could have made it
/// has its name there. A folder may be absent for a process, or be another one, as in a container;
/// the network is the one that matters.
package struct NetworkNames: Sendable {
    /// What the names of all lupins begin with.
    package let prefix: String
    private let pseudonym: String
    /// Those of this user that have a socket there are asked by it.
    private let folders: [String]

    /// - Parameters:
    ///   - pseudonym: That of this process in `Via`.
    ///   - folders: The sibling folders; lupins with folders of their own are a circle of their
    ///     own.
    package init(of pseudonym: String, in folders: [String]) {
        self.pseudonym = pseudonym
        self.folders = folders
        let isUsual = folders == SiblingFolder.ofThisUser
        let circle = isUsual ? nil : folders.first?.split(separator: "/").last
        prefix = circle.map { "lupin@\($0)." } ?? "lupin."
    }

    /// The name of this process.
    package var own: String { "\(prefix)\(ProcessOwner.userNumber).\(pseudonym)" }

    /// The names of a user's other lupins; nil where they are not known, or too many to ask.
    ///
    /// It blocks.
    func all(of user: UInt32) -> Set<String>? {
        let names = LocalSocket.names(withPrefix: prefix, of: user, countMax: Self.countMax)
        return names?.filter { pseudonym(in: $0) != pseudonym }
    }

    /// The names of this user's other lupins that have no socket in the folders.
    ///
    /// It takes some 100 µs, which a loop may spend.
    func apart() -> Set<String>? {
        guard let sockets = try? folders.flatMap(SiblingFolder.sockets(in:)) else { return nil }
        return ofThisUser(besides: sockets)
    }

    /// The names of this user's other lupins, without those that have one of the sockets.
    ///
    /// Whose they are, the kernel says: in a user namespace a lupin calls its user by another
    /// number.
    package func ofThisUser(besides sockets: [String]) -> Set<String>? {
        let known = Set(sockets.map(SiblingFolder.pseudonym(of:)))
        return all(of: ProcessOwner.userNumber)?.filter { !known.contains(pseudonym(in: $0)) }
    }

    /// What the lupin with a name calls its own user: another number in a user namespace.
    func user(in name: String) -> UInt32? {
        let digits = name.dropFirst(prefix.count).prefix { $0 != "." }
        // Bounded: by `max`.
        return NumberReader.unsigned(digits, max: UInt64(UInt32.max)).map(UInt32.init)
    }

    private func pseudonym(in name: String) -> Substring {
        name.dropFirst(prefix.count).drop { $0 != "." }.dropFirst()
    }

    package static let countMax = 256
}
