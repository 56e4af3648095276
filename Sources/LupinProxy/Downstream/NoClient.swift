// The client's side of requests that lupin makes for itself: there is no client.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// A client's side without a connection: it discards everything and never leaves.
protocol AbsentClient: Downstream {}

extension AbsentClient {
    var isClientGone: Bool { false }
    var hasBodyWaiting: Bool { false }
    var isRequestComplete: Bool { true }
    var mayPersist: Bool { false }
    var localAddress: IPAddress? { nil }
    var ends: (peer: SocketAddress, local: SocketAddress)? { nil }
    var bytesReceived: UInt64 { 0 }
    var bytesSent: UInt64 { 0 }

    func attach(_ pump: (any ChannelPump)?) {}
    func sendInterim(_ head: ResponseHead) throws(LupinError) {}
    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?) {}
    func openTunnel() -> (source: any BodySource, sink: any BodySink) {
        (BytesBody([]), DiscardedBody())
    }
    func cutShort(atOnce: Bool) {}
    func abort() {}
}

/// A client's side that sends nothing.
final class NoClient: AbsentClient {
    var requestBody: any BodySource { BytesBody([]) }
    var isCommitted: Bool { false }

    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink { DiscardedBody() }
}

extension Client {
    /// lupin itself.
    static let ourselves = Client(
        address: .v4(0x7F00_0001),
        port: 0,
        isAdmitted: true,
        isLocal: true
    )
}

extension Exchange {
    /// An exchange of lupin's own, which works for another one beside it.
    ///
    /// `interceptedTunnel` is that of the client's exchange for which it is: it goes by the same
    /// way.
    convenience init(
        ofOurOwn slot: ParkingSlot,
        _ resources: WorkerResources,
        _ snapshot: Snapshot,
        inside interceptedTunnel: InterceptedTunnel? = nil
    ) {
        self.init(
            nil,
            from: .ourselves,
            NoClient(),
            slot,
            resources,
            snapshot,
            interceptedTunnel,
            bytesBefore: 0
        )
    }
}
