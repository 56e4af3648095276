// The protocols that Upgrade names (RFC 9110 §7.8), and which of them are never asked for.

/// The protocols of a message's Upgrade fields that may be forwarded.
package struct UpgradeList: Sendable {
    /// The protocols as they were written, `name` or `name/version`.
    private var protocols: [String] = []
    /// Whether a member was left out.
    private var isCut = false

    /// The protocols that `fields` name.
    package init(_ fields: FieldSection) {
        fields.forEachMember(of: .upgrade) { member in
            if member.isUpgrade {
                protocols.append(String(copying: member))
            } else {
                isCut = true
            }
        }
    }

    /// A single protocol, which an extended CONNECT has named.
    package init(named name: String) { protocols = [name] }

    /// Whether there are none.
    package var isEmpty: Bool { protocols.isEmpty }

    /// The value of Upgrade.
    package var text: String { protocols.joined(separator: ", ") }

    /// Whether `name` is the only protocol.
    package func isOnly(_ name: String) -> Bool { !isCut && names == [name] }

    /// Whether a server may switch to these protocols after a request for `wished`.
    package func isChoice(of wished: UpgradeList) -> Bool {
        !isCut && !isEmpty && names.isSubset(of: wished.names)
    }

    /// The names without versions, in lower case: a server may choose another version.
    private var names: Set<String> {
        Set(protocols.map { String($0.prefix { $0 != "/" }).lowercased() })
    }
}

extension FieldSection {
    /// The protocols that a request asks to switch to; nil for none that may be forwarded.
    ///
    /// They are meant for this connection only if Connection says so (RFC 9110 §7.8).
    package var requestedUpgrade: UpgradeList? {
        guard names.contains(.upgrade), lists("upgrade", in: .connection) else { return nil }
        let list = UpgradeList(self)
        return list.isEmpty ? nil : list
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are `token ["/" token]`, and no protocol that carries HTTP.
    fileprivate var isUpgrade: Bool {
        let slash = offset(of: 0x2F)
        let name = extracting(..<slash)
        let isWellFormed =
            name.isToken && (slash == count || extracting((slash + 1)...).isToken)
        return isWellFormed && !name.isHTTP
    }

    var isToken: Bool {
        for i in indices where !self[i].isTokenByte { return false }
        return !isEmpty
    }

    /// Whether a connection goes on with HTTP after a switch to the protocol of this name: HTTP/2
    /// (RFC 9113 §3.1 made `h2c` obsolete), or TLS with HTTP inside (RFC 2817).
    ///
    /// These are never forwarded: no rule would see the requests on such a connection, nor would a
    /// list of denied targets. A request that asks for nothing else goes on without Upgrade.
    private var isHTTP: Bool {
        for name in ["h2", "h2c", "http", "tls"] where equalsIgnoringCase(name.utf8.span) {
            return true
        }
        return false
    }
}
