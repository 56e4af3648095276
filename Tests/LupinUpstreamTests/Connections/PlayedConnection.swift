// A connection to a server that the test plays by hand.
import LupinCore
import LupinIO
import LupinTestKit
import LupinUpstream
import LupinWire

/// A connection to an origin, and the origin's end of it.
struct PlayedConnection {
    static let hop = NextHop.origin(origin("a.test"))

    let link: UpstreamHTTP1
    let peer: PlainSocket

    init(to hop: NextHop = PlayedConnection.hop, _ fixture: isolated LoopFixture) throws {
        let (channel, peer) = try fixture.connectedPair()
        link = UpstreamHTTP1(channel, to: hop, limits: HTTP1Limits())
        self.peer = peer
    }

    static func origin(_ host: String) -> Origin {
        Origin(scheme: .http, host: Host(host) ?? Host(.v4(0x7F00_0001)), port: 80)
    }

    var isOpen: Bool { link.channel.isOpen }

    /// Runs an exchange over it up to the end of the response's body.
    func exchange(
        _ response: String,
        login: String? = nil,
        _ fixture: isolated LoopFixture
    ) async throws {
        let slot = ParkingSlot(on: fixture.loop)
        link.attach(slot, Bystander())
        var head = RequestHead()
        if let login { head.fields.add(name: "Authorization", value: login) }
        link.begin(head, RequestOptions(target: .origin, authority: "a.test", framing: .none))
        _ = try link.requestBody.flush()
        try peer.send(response)
        while true {
            guard let head = try link.nextHead() else {
                _ = await slot.park(for: .upstreamReadable)
                continue
            }
            if !head.isInterim { break }
        }
        let body = CollectedBody(bytesMax: 1 << 10)
        while true {
            let progress = try link.responseBody.pull()
            if progress == .end { return }
            if progress == .blocked {
                _ = await slot.park(for: .upstreamReadable)
            } else if try link.responseBody.offer(to: body, keeping: nil).isEnd {
                return
            }
        }
    }
}

/// A pump that leaves it to the task to look.
private final class Bystander: ChannelPump {
    func channelIsReady(_ channel: Channel) {}
}
