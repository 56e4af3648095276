// Asks the kernel for the unix sockets of a network (sock_diag(7)).
import CLinux
import Glibc
import LupinCore

/// One look at the unix sockets of the network in which a socket for sock_diag(7) was made.
package enum UnixDiagnosis {
    /// What the kernel tells of each socket, as bits of `udiag_show`.
    package struct Facts: OptionSet {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let name = Facts(rawValue: 0x01)
        package static let file = Facts(rawValue: 0x02)
        /// Told since Linux 5.3.
        package static let user = Facts(rawValue: 0x40)
    }

    /// The types of the attributes that have these facts.
    package static let (name, file, user): (UInt16, UInt16, UInt16) = (0, 1, 7)

    /// Those that listen, as a bit of `udiag_states`; and sockets in any state.
    package static let (listening, anyState): (UInt32, UInt32) = (1 << 10, .max)

    private static let answerBytesMax = 64 << 10

    /// Calls `body` with the attributes of each socket.
    /// - Returns: Whether the answer was made at one moment: a socket that is closed meanwhile may
    ///   hide another one. nil when the kernel does not answer, or not to the end.
    package static func forEach(
        _ raw: Int32,
        in states: UInt32,
        telling facts: Facts,
        _ body: (ArraySlice<UInt8>) -> Void
    ) -> Bool? {
        // The inode and the cookie stay empty.
        let numbers: [UInt32] = [states, 0, facts.rawValue, 0, 0]
        let fixed =
            [UInt8(AF_UNIX), 0, 0, 0]
            + numbers.flatMap { number -> [UInt8] in NetlinkMessages.native(number) }
        var question = NetlinkMessages()
        // NLM_F_REQUEST | NLM_F_DUMP
        question.append(LINUX_DIAGNOSIS_SOCKET, 0x301, fixed)
        let bytes = question.bytes
        // Safety: the bytes outlive the call, which reads them.
        guard SystemCall.value({ unsafe send(raw, bytes, bytes.count, 0) }) == bytes.count else {
            return nil
        }
        var block = [UInt8](repeating: 0, count: answerBytesMax)
        var parts = 0
        while true {
            // Safety: as many bytes are filled at most as the block has.
            let count = SystemCall.value { unsafe recv(raw, &block, answerBytesMax, 0) }
            guard count > 0 else { return nil }
            parts += 1
            var rest = block[..<count]
            while let message = NetlinkPiece(message: &rest) {
                switch message.type {
                // Behind 16 bytes about the socket.
                case LINUX_DIAGNOSIS_SOCKET: body(message.content.dropFirst(16))
                // NLMSG_DONE
                case 3: return parts <= 1
                default: return nil
                }
            }
        }
    }

    /// The attribute of a type.
    package static func attribute(
        _ type: UInt16,
        in attributes: ArraySlice<UInt8>
    ) -> NetlinkPiece? {
        var rest = attributes
        while let attribute = NetlinkPiece(attribute: &rest) {
            if attribute.type == type { return attribute }
        }
        return nil
    }
}

extension LocalSocket {
    /// The names without a file that begin so, at which sockets of a user listen in this network;
    /// nil where there are more, or the kernel does not tell them all.
    ///
    /// Anybody may listen at any name: whoever connects asks whose the socket is, since not every
    /// kernel tells it here. It blocks, for some 100 µs.
    package static func names(
        withPrefix prefix: String,
        of user: UInt32,
        countMax: Int
    ) -> Set<String>? {
        if let names = namesByDiagnosis(withPrefix: prefix, of: user) {
            return names.count > countMax ? nil : names
        }
        // Some kernels and containers know no sock_diag(7).
        let table = ProcessFiles.content(of: "/proc/net/unix", bytesMax: tableBytesMax)
        guard let table, table.count < tableBytesMax else { return nil }
        return names(withPrefix: prefix, countMax: countMax, in: table)
    }

    private static func namesByDiagnosis(withPrefix prefix: String, of user: UInt32)
        -> Set<String>?
    {
        guard let raw = try? SystemCall.check({ linux_diagnosis_socket() }) else { return nil }
        let socket = Descriptor(owning: raw)
        var names: Set<String> = []
        for _ in 0..<attemptsMax {
            let isCertain = UnixDiagnosis.forEach(
                socket.raw,
                in: UnixDiagnosis.listening,
                telling: [.name, .user]
            ) { attributes in
                let owner = UnixDiagnosis.attribute(UnixDiagnosis.user, in: attributes)
                guard owner.map({ $0.number(at: 0) == user }) ?? true,
                    let name = UnixDiagnosis.attribute(UnixDiagnosis.name, in: attributes),
                    name.content.first == 0
                else { return }
                let text = String(decoding: name.content.dropFirst(), as: UTF8.self)
                if text.hasPrefix(prefix) { names.insert(text) }
            }
            guard let isCertain else { return nil }
            if isCertain { break }
        }
        return names
    }

    /// The same of a table; each connection to a name has a line with it, too.
    package static func names(
        withPrefix prefix: String,
        countMax: Int,
        in table: [UInt8]
    ) -> Set<String>? {
        // Seven columns, and the path of those that have one; "@" stands for the NUL of a name.
        var names: Set<String> = []
        for line in table.split(separator: 0x0A) {
            guard let at = line.lastIndex(of: 0x40) else { continue }
            let name = String(decoding: line[(at + 1)...], as: UTF8.self)
            if name.hasPrefix(prefix) { names.insert(name) }
            if names.count > countMax { return nil }
        }
        return names
    }

    private static let tableBytesMax = 16 << 20
    /// A socket that is closed during an answer may hide another one.
    private static let attemptsMax = 2
}
