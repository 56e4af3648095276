// The order of a turn: whose events come first, and the steps behind them.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct TurnWorkTests {
    /// Notes its steps, and what it asks for in them.
    private final class Work: TurnWork {
        let name: String
        let events: EventLog
        var next: (() -> Void)?

        init(_ name: String, _ events: EventLog) {
            self.name = name
            self.events = events
        }

        func go(_ step: TurnStep) {
            events.note("\(name) \(step)")
            next?()
            next = nil
        }
    }

    @Test func `acts go before records, also those that are asked for in a step`() async throws {
        let events = EventLog()
        try await LoopFixture.run { fixture in
            let loop = fixture.loop
            let (one, two, three) = (Work("1", events), Work("2", events), Work("3", events))
            two.next = {
                loop.inStep(.record, two)
                loop.inStep(.act, three)
            }
            loop.inStep(.record, one)
            loop.inStep(.act, two)
            loop.inStep(.act, one)
            await fixture.settle()
        }
        #expect(events.all == ["2 act", "1 act", "3 act", "1 record", "2 record"])
    }

    @Test func `no wait comes before a step`() async throws {
        let events = EventLog()
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        try await fixture.run { fixture in
            let work = Work("1", events)
            let loop = fixture.loop
            work.next = { loop.inStep(.act, work) }
            loop.inStep(.act, work)
        }
        #expect(events.wait(for: 2) == ["1 act", "1 act"])
    }

    /// Notes whose event it was.
    private final class NotingPump: ChannelPump {
        let name: String
        let events: EventLog

        init(_ name: String, _ events: EventLog) {
            self.name = name
            self.events = events
        }

        func channelIsReady(_ channel: Channel) { events.note(name) }
    }

    @Test func `what servers sent is seen before what clients sent, however it came`()
        async throws
    {
        let events = EventLog()
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            var connector = Connector(on: fixture.loop, slot: ParkingSlot(on: fixture.loop))
            let outgoing = try await connector.connect(
                to: [.v4(0x7F00_0001)],
                port: listener.address.port,
                until: .max,
                interruptions: []
            )
            let server = try listener.accept()
            let (incoming, client) = try fixture.connectedPair()
            defer {
                outgoing.close()
                incoming.close()
            }
            let pumps = (NotingPump("server", events), NotingPump("client", events))
            outgoing.pump = pumps.0
            incoming.pump = pumps.1
            await fixture.settle()
            let before = events.all.count
            // The loop sees both at once, the client's bytes first.
            try client.send("a")
            try server.send("b")
            await fixture.settle()
            #expect(Array(events.all.dropFirst(before)) == ["server", "client"])
        }
    }
}
