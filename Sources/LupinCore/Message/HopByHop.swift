// Marks the fields that belong to one connection and are not forwarded (RFC 9110 §7.6.1).

package enum HopByHop {
    /// A client's requests about the connection itself, read before the fields are marked.
    package struct Wishes {
        /// The protocols to switch to; nil for none.
        package var upgrade: UpgradeList?

        package init() {}
    }

    /// Marks the hop-by-hop lines of a request, including those that Connection names.
    ///
    /// It happens before any step runs, so a client can't strip what a rule adds, as
    /// `Connection: close, Authorization` would.
    ///
    /// `keepsProxyAuthorization` means that the next hop is a parent proxy for which lupin has no
    /// credentials: then the client's own are meant for it (RFC 9110 §11.7.2).
    @discardableResult
    package static func mark(
        request fields: inout FieldSection,
        keepsProxyAuthorization: Bool
    ) -> Wishes {
        var wishes = Wishes()
        wishes.upgrade = fields.requestedUpgrade
        removeForged(&fields)
        mark(
            &fields,
            keepsProxyAuthorization ? ofHop.without(.proxyAuthorization) : ofHop
        )
        if fields.names.contains(.expect) { markRepeatedExpectations(&fields) }
        return wishes
    }

    /// Marks the hop-by-hop lines of a response.
    ///
    /// `keepsProxyAuthenticate` means that the response is a parent's 407 that lupin can't answer.
    /// Without `keepsAltSvc`, Alt-Svc is removed: inside an intercepted CONNECT its alternatives
    /// would bypass lupin (RFC 7838 §3).
    package static func mark(
        response fields: inout FieldSection,
        keepsProxyAuthenticate: Bool = false,
        keepsAltSvc: Bool
    ) {
        var names = keepsProxyAuthenticate ? ofHop.without(.proxyAuthenticate) : ofHop
        if !keepsAltSvc { names.insert(.altSvc) }
        mark(&fields, names)
        removeForged(&fields)
    }

    /// Removes what would pass for lupin's own words, in heads and trailers of others: `Lupin-…`
    /// fields in any spelling, and the members called `lupin` or `lupin-…` of Proxy-Status and
    /// Cache-Status.
    ///
    /// Those of another lupin on the way are removed as well: nothing tells them from an origin's.
    /// They are not only marked, since records show marked lines, too.
    package static func removeForged(_ fields: inout FieldSection) {
        guard mayHoldForged(fields) else { return }
        for i in fields.lines.indices.reversed() {
            let line = fields.lines[i]
            let name = fields.text(line.name).lowercased()
            // Programs behind a gateway interface (CGI) get all but letters and digits as one
            // character.
            let rest = name.dropFirst(5).utf8.first.map { !$0.isLetterOrDigit } ?? true
            if name.hasPrefix("lupin"), rest {
                fields.lines.remove(at: i)
            } else if line.known == .proxyStatus || name == "cache-status" {
                fields.removeMembers(ofLine: i) { $0 == "lupin" || $0.hasPrefix("lupin-") }
            }
        }
    }

    /// A quick look, at the first letters: most messages have none.
    private static func mayHoldForged(_ fields: borrowing FieldSection) -> Bool {
        if fields.names.contains(.proxyStatus) { return true }
        let storage = fields.storage.span
        let lines = fields.lines.span
        for i in lines.indices where lines[i].known == .other && !lines[i].name.isEmpty {
            let first = storage[lines[i].name.lowerBound] | 0x20
            if first == 0x6C || (first == 0x63 && lines[i].name.count == 12) { return true }
        }
        return false
    }

    /// Marks all lines of Expect but the first: they say the same, and the next recipient may not
    /// know that.
    private static func markRepeatedExpectations(_ fields: inout FieldSection) {
        var isFirst = true
        for i in fields.lines.indices where fields.lines[i].known == .expect {
            if !isFirst { fields.lines[i].isHopByHop = true }
            isFirst = false
        }
    }

    /// What goes no further than lupin; Content-Length and Trailer do, since they stay true.
    private static let ofHop = FieldNameSet(of: .connection, .proxy).with(.transferEncoding)

    /// Marks hop-by-hop fields that adapters added, which must not control a connection.
    ///
    /// It ignores the names in the client's Connection, which must not strip what adapters add, and
    /// leaves what logs in to a parent proxy.
    package static func markAdded(_ fields: inout FieldSection) {
        let names = ofHop.without(.proxyAuthorization)
        for i in fields.lines.indices where names.contains(fields.lines[i].known) {
            fields.lines[i].isHopByHop = true
        }
    }

    /// Marks the field that was kept for a parent proxy, when the request does not go to one.
    package static func dropProxyAuthorization(_ fields: inout FieldSection) {
        mark(&fields, FieldNameSet().with(.proxyAuthorization))
    }

    /// Marks the lines whose name is no token.
    package static func markOddNames(_ fields: inout FieldSection) {
        for i in fields.lines.indices where fields.lines[i].known == .other {
            let name = fields.lines[i].name.range
            let isOdd = !fields.storage.span.extracting(name).isToken
            if isOdd { fields.lines[i].isHopByHop = true }
        }
    }

    private static func mark(_ fields: inout FieldSection, _ names: FieldNameSet) {
        // Most messages have none of them.
        guard fields.names.meets(names) else { return }
        for i in fields.lines.indices where names.contains(fields.lines[i].known) {
            fields.lines[i].isHopByHop = true
        }
        if names.contains(.connection), fields.first(.connection) != nil { markNominated(&fields) }
    }

    /// RFC 9110 §7.6.1: "Intermediaries MUST parse a received Connection header field […] and, for
    /// each connection-option in this field, remove any header or trailer field(s) […] with the
    /// same name".
    ///
    /// Framing is safe: Host and Content-Length are written anew.
    private static func markNominated(_ fields: inout FieldSection) {
        var nominated: [[UInt8]] = []
        fields.forEachMember(of: .connection) { member in
            let isUsual =
                member.equalsIgnoringCase(close.span) || member.equalsIgnoringCase(keepAlive.span)
            if !isUsual { nominated.append([UInt8](copying: member)) }
        }
        for name in nominated {
            for i in fields.lines.indices where fields.nameEquals(fields.lines[i], name.span) {
                fields.lines[i].isHopByHop = true
            }
        }
    }

    private static let close = Array("close".utf8)
    private static let keepAlive = Array("keep-alive".utf8)
}
