// A ClientHello of exactly the parts that a test wants, however wrong.

/// The bytes of a ClientHello (RFC 8446 §4.1.2) in records.
package struct ScriptedHello: Sendable {
    package var version: [UInt8] = [3, 3]
    package var sessionID: [UInt8] = []
    package var suites: [UInt8] = [0x13, 0x01]
    /// Types with contents; nil ends the hello before them.
    package var extensions: [(type: UInt16, content: [UInt8])]?
    /// What stands behind the extensions.
    package var rest: [UInt8] = []
    /// The most bytes of a record.
    package var recordBytes = 16384

    package init(extensions: [(type: UInt16, content: [UInt8])]? = []) {
        self.extensions = extensions
    }

    /// A hello that asks for `name`.
    package init(name: String) { self.init(names: [Array(name.utf8)]) }

    /// A hello whose one extension server_name lists these names.
    package init(names: [[UInt8]]) { extensions = [(0, Self.list(of: names))] }

    package var bytes: [UInt8] {
        var body = version + [UInt8](repeating: 9, count: 32)
        body += Self.vector(1, sessionID) + Self.vector(2, suites) + Self.vector(1, [0])
        if let extensions {
            let all = extensions.flatMap { type, content in
                [UInt8(type >> 8), UInt8(type & 0xFF)] + Self.vector(2, content)
            }
            body += Self.vector(2, all)
        }
        return Self.records([1] + Self.vector(3, body + rest), size: recordBytes)
    }

    /// The content of server_name (RFC 6066 §3).
    package static func list(of names: [[UInt8]]) -> [UInt8] {
        vector(2, names.flatMap { [0] + vector(2, $0) })
    }

    /// `content` behind its length, a number of `width` bytes.
    package static func vector(_ width: Int, _ content: [UInt8]) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) }
            + content
    }

    /// A message in records of at most `size` bytes.
    package static func records(_ message: [UInt8], size: Int = 16384) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = message[...]
        while !rest.isEmpty {
            bytes += [22, 3, 1] + vector(2, Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return bytes
    }
}
