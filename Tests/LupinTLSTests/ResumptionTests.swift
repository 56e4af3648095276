// That a client's second connection is cheaper, and only where it may be.

import LupinCore
import LupinTLS
import Synchronization
import Testing

struct ResumptionTests {
    /// A ticket of a first connection with these options.
    private func ticket(_ options: PairOptions, _ identity: MintedIdentity) throws -> TLSTicket {
        let pair = try JoinedPair.connected(options, identity: identity)
        try pair.send([1], from: .server)
        pair.run()
        #expect(!pair.client.isResumed)
        return try #require(pair.client.newTicket)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a second connection resumes and knows the certificates of the first`(
        version: TLSVersion
    ) throws {
        let identity = try MintedIdentity()
        var options = PairOptions(version)
        let ticket = try ticket(options, identity)
        #expect(ticket.version == version && ticket.isForOneUse == (version == .tls13))
        #expect(ticket.isUsable && ticket.validUntil > 0)
        options.ticket = ticket
        options.clientCheck = { _ in
            Issue.record("a resumed connection asks for no verdict")
            return .refused(.badCertificate)
        }
        let pair = try JoinedPair.connected(options, identity: identity)
        try pair.send([2], from: .server)
        pair.run()
        #expect(pair.client.isResumed && pair.server.isResumed)
        #expect(pair.plain[.client] == [2])
        #expect(pair.client.peerCertificates?.encodings.first == identity.certificate.der)
        #expect(
            (pair.client.newTicket != nil) == (version == .tls13),
            "tickets of 1.3 are for one use"
        )
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a ticket of one scope is no use in another`(version: TLSVersion) throws {
        let identity = try MintedIdentity()
        var options = PairOptions(version)
        options.ticket = try ticket(options, identity)
        options.scope = Array("other.example".utf8)
        #expect(!(try JoinedPair.connected(options, identity: identity)).client.isResumed)
        options.scope = Array("example.com".utf8)
        #expect(try JoinedPair.connected(options, identity: identity).client.isResumed)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a process with other keys can't open a ticket`(version: TLSVersion) throws {
        let identity = try MintedIdentity()
        var options = PairOptions(version)
        options.ticket = try ticket(options, identity)
        options.server.ticketKeys = freshTicketKeys()
        #expect(!(try JoinedPair.connected(options, identity: identity)).client.isResumed)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a ticket is good under the previous key and no longer under the one before`(
        version: TLSVersion
    ) throws {
        let hours = Hours()
        let keys = TicketKeys(lifetime: .seconds(12 * 3600), age: { hours.age })
        let identity = try MintedIdentity()
        var options = PairOptions(version, ticketKeys: keys)
        let tickets = try (0..<3).map { _ in try ticket(options, identity) }
        for (ticket, (hour, isResumed)) in zip(tickets, [(11, true), (23, true), (25, false)]) {
            hours.now = hour
            options.ticket = ticket
            let pair = try JoinedPair.connected(options, identity: identity)
            #expect(pair.client.isResumed == isResumed, "after \(hour) hours")
        }
    }

    @Test func `a key that slept through two lifetimes opens nothing`() throws {
        let hours = Hours()
        let keys = TicketKeys(lifetime: .seconds(12 * 3600), age: { hours.age })
        let identity = try MintedIdentity()
        var options = PairOptions(.tls13, ticketKeys: keys)
        options.ticket = try ticket(options, identity)
        hours.now = 24
        #expect(!(try JoinedPair.connected(options, identity: identity)).client.isResumed)
    }

    @Test func `a ticket of TLS 1.3 is used up by the connection that it resumed`() throws {
        let identity = try MintedIdentity()
        var options = PairOptions(.tls13)
        let ticket = try ticket(options, identity)
        options.ticket = ticket
        #expect(try JoinedPair.connected(options, identity: identity).client.isResumed)
        #expect(!ticket.isUsable)
        #expect(!(try JoinedPair.connected(options, identity: identity)).client.isResumed)
    }

    @Test func `a ticket of TLS 1.2 serves several connections`() throws {
        let identity = try MintedIdentity()
        var options = PairOptions(.tls12)
        options.ticket = try ticket(options, identity)
        for _ in 0..<3 {
            #expect(try JoinedPair.connected(options, identity: identity).client.isResumed)
        }
    }

    @Test func `a fatal alert makes the ticket of its connection unusable`() throws {
        let pair = try JoinedPair.connected(PairOptions(.tls12))
        let ticket = try #require(pair.client.newTicket)
        try pair.send([1], from: .server)
        pair.tamper(from: .server) { $0[$0.count - 1] ^= 1 }
        pair.run()
        #expect(pair.failures[.client] != nil)
        #expect(!ticket.isUsable)
    }

    @Test func `a connection that just ended leaves its ticket usable`() throws {
        let ticket = try ticket(PairOptions(.tls12), MintedIdentity())
        #expect(ticket.isUsable)
    }
}

/// A clock that a test sets.
private final class Hours: Sendable {
    private let hour = Atomic<Int>(0)

    var now: Int {
        get { hour.load(ordering: .relaxed) }
        set { hour.store(newValue, ordering: .relaxed) }
    }

    var age: Duration { .seconds(now * 3600) }
}
