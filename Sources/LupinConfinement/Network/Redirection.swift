// Leads every connection of a confined command to lupin, whatever address it is for.
import CLinux
import Glibc
import LupinIO

/// The network of a confined command, in which every address is its own.
enum Redirection {
    /// Where all questions for the addresses of names arrive.
    static let namePort: UInt16 = 61_053

    /// An address that is not the loopback's: programs that see only that one believe to have no
    /// network, and some never ask for a name then (`AI_ADDRCONFIG`, RFC 3493 §6.1).
    ///
    /// Of the range for tests of networks, like the addresses that names get (RFC 2544).
    private static let ownAddress: [UInt8] = [198, 19, 0, 1]
    /// The loopback interface is the first one of every network.
    private static let loopback: UInt32 = 1

    /// Makes all addresses local, and leads connections to them to `Confinement.redirectedPort`.
    ///
    /// - Returns: Whether IPv6 is led there, too; where the machine has none, it fails.
    /// - Throws: The kernel's error: it has no nf_tables, or not for this user. All connections but
    ///   those to the loopback interface fail then.
    static func begin() throws(SystemError) -> Bool {
        try filters.send(to: REDIRECT_FILTERS)
        try addOwnAddress()
        // Clients appear to come from the loopback interface then, which they do.
        try route(AF_INET, source: [127, 0, 0, 1])
        return (try? route(AF_INET6, source: nil)) != nil
    }

    static func addOwnAddress() throws(SystemError) {
        var message = NetlinkMessages()
        // struct ifaddrmsg: family, prefix, flags, scope, interface.
        message.append(
            REDIRECT_NEW_ADDRESS,
            REDIRECT_REQUEST | REDIRECT_CREATE | REDIRECT_ACKNOWLEDGE,
            [UInt8(truncatingIfNeeded: AF_INET), 32, 0, REDIRECT_SCOPE_HOST]
                + NetlinkMessages.native(loopback)
        ) { $0.add(REDIRECT_ADDRESS_LOCAL, ownAddress) }
        try message.send(to: REDIRECT_ROUTES)
    }

    /// Makes every address of a family one of this machine's own.
    private static func route(_ family: Int32, source: [UInt8]?) throws(SystemError) {
        var messages = NetlinkMessages()
        // struct rtmsg: family, two lengths, type of service, table, protocol, scope, type, flags.
        messages.append(
            REDIRECT_NEW_ROUTE,
            REDIRECT_REQUEST | REDIRECT_CREATE | REDIRECT_ACKNOWLEDGE,
            [
                UInt8(truncatingIfNeeded: family), 0, 0, 0,
                REDIRECT_TABLE_LOCAL, REDIRECT_BY_BOOT, REDIRECT_SCOPE_HOST, REDIRECT_TYPE_LOCAL,
                0, 0, 0, 0,
            ]
        ) {
            $0.add(REDIRECT_ROUTE_INTERFACE, NetlinkMessages.native(loopback))
            if let source { $0.add(REDIRECT_ROUTE_SOURCE, source) }
        }
        try messages.send(to: REDIRECT_ROUTES)
    }

    // MARK: nf_tables

    private static let name = "lupin"

    /// A table with one chain, which every connection passes that begins here.
    ///
    /// ```
    /// udp dport 53 redirect to :61053
    /// ip daddr 127.0.0.0/8 accept
    /// ip6 daddr ::1 accept
    /// meta l4proto tcp redirect to :61081
    /// ```
    private static var filters: NetlinkMessages {
        var messages = NetlinkMessages()
        messages.append(REDIRECT_BATCH_BEGIN, REDIRECT_REQUEST, subsystem)
        messages.append(REDIRECT_NEW_TABLE, REDIRECT_REQUEST | REDIRECT_CREATE, family) {
            $0.add(REDIRECT_TABLE_NAME, name)
        }
        messages.append(REDIRECT_NEW_CHAIN, REDIRECT_REQUEST | REDIRECT_CREATE, family) {
            $0.add(REDIRECT_CHAIN_TABLE, name)
            $0.add(REDIRECT_CHAIN_NAME, name)
            $0.add(REDIRECT_CHAIN_TYPE, "nat")
            $0.nest(REDIRECT_CHAIN_HOOK | REDIRECT_NESTED) {
                $0.add(REDIRECT_HOOK_NUMBER, network: REDIRECT_HOOK_OUTPUT)
                $0.add(REDIRECT_HOOK_PRIORITY, network: UInt32(bitPattern: REDIRECT_PRIORITY))
            }
        }
        messages.rule(isLast: false) {
            $0.demand(meta: REDIRECT_META_TRANSPORT, [17])
            $0.demand(REDIRECT_TRANSPORT_HEADER, offset: 2, [0, 53])
            $0.redirect(to: namePort)
        }
        messages.rule(isLast: false) {
            $0.demand(meta: REDIRECT_META_NETWORK, [UInt8(truncatingIfNeeded: AF_INET)])
            $0.demand(REDIRECT_NETWORK_HEADER, offset: 16, [127])
            $0.accept()
        }
        messages.rule(isLast: false) {
            $0.demand(meta: REDIRECT_META_NETWORK, [UInt8(truncatingIfNeeded: AF_INET6)])
            let one = [UInt8](repeating: 0, count: 15) + [1]
            $0.demand(REDIRECT_NETWORK_HEADER, offset: 24, one)
            $0.accept()
        }
        messages.rule(isLast: true) {
            $0.demand(meta: REDIRECT_META_TRANSPORT, [6])
            $0.redirect(to: Confinement.redirectedPort)
        }
        messages.append(REDIRECT_BATCH_END, REDIRECT_REQUEST, subsystem)
        return messages
    }

    /// struct nfgenmsg: family, version, resource; the latter in the network's order.
    private static let subsystem: [UInt8] = [
        0, 0, 0, UInt8(truncatingIfNeeded: REDIRECT_SUBSYSTEM),
    ]
    fileprivate static let family: [UInt8] = [REDIRECT_FAMILY_BOTH, 0, 0, 0]

    fileprivate static func ruleHead(_ messages: inout NetlinkMessages) {
        messages.add(REDIRECT_RULE_TABLE, name)
        messages.add(REDIRECT_RULE_CHAIN, name)
    }
}

/// A rule is a list of steps, which go on while what they demand holds.
extension NetlinkMessages {
    fileprivate mutating func rule(isLast: Bool, _ steps: (inout NetlinkMessages) -> Void) {
        let flags = REDIRECT_REQUEST | REDIRECT_CREATE | REDIRECT_APPEND
        append(
            REDIRECT_NEW_RULE,
            isLast ? flags | REDIRECT_ACKNOWLEDGE : flags,
            Redirection.family
        ) {
            Redirection.ruleHead(&$0)
            $0.nest(REDIRECT_RULE_STEPS | REDIRECT_NESTED, steps)
        }
    }

    private mutating func step(_ name: String, _ data: (inout NetlinkMessages) -> Void) {
        nest(REDIRECT_LIST_ITEM | REDIRECT_NESTED) {
            $0.add(REDIRECT_STEP_NAME, name)
            $0.nest(REDIRECT_STEP_DATA | REDIRECT_NESTED, data)
        }
    }

    fileprivate mutating func demand(meta key: UInt32, _ value: [UInt8]) {
        step("meta") {
            $0.add(REDIRECT_META_KEY, network: key)
            $0.add(REDIRECT_META_REGISTER, network: REDIRECT_REGISTER)
        }
        compare(value)
    }

    fileprivate mutating func demand(_ header: UInt32, offset: UInt32, _ value: [UInt8]) {
        step("payload") {
            $0.add(REDIRECT_PAYLOAD_REGISTER, network: REDIRECT_REGISTER)
            $0.add(REDIRECT_PAYLOAD_BASE, network: header)
            $0.add(REDIRECT_PAYLOAD_OFFSET, network: offset)
            $0.add(REDIRECT_PAYLOAD_LENGTH, network: UInt32(truncatingIfNeeded: value.count))
        }
        compare(value)
    }

    private mutating func compare(_ value: [UInt8]) {
        step("cmp") {
            $0.add(REDIRECT_COMPARE_REGISTER, network: REDIRECT_REGISTER)
            $0.add(REDIRECT_COMPARE_HOW, network: REDIRECT_EQUAL)
            $0.nest(REDIRECT_COMPARE_WITH | REDIRECT_NESTED) { $0.add(REDIRECT_VALUE, value) }
        }
    }

    fileprivate mutating func accept() {
        step("immediate") {
            $0.add(REDIRECT_SET_REGISTER, network: REDIRECT_REGISTER_VERDICT)
            $0.nest(REDIRECT_SET_DATA | REDIRECT_NESTED) {
                $0.nest(REDIRECT_VERDICT | REDIRECT_NESTED) {
                    $0.add(REDIRECT_VERDICT_CODE, network: REDIRECT_ACCEPT)
                }
            }
        }
    }

    fileprivate mutating func redirect(to port: UInt16) {
        step("immediate") {
            $0.add(REDIRECT_SET_REGISTER, network: REDIRECT_REGISTER)
            $0.nest(REDIRECT_SET_DATA | REDIRECT_NESTED) {
                $0.add(REDIRECT_VALUE, Self.native(port.bigEndian))
            }
        }
        step("redir") { $0.add(REDIRECT_PORT_REGISTER, network: REDIRECT_REGISTER) }
    }
}
