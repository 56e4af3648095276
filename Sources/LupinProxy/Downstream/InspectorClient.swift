// The client's side of a request that the inspector sends: it has a body, and reads nothing.
import LupinCore
import LupinIO
import LupinWire

/// A client's side that sends a body from memory, discards the response and never leaves.
///
/// The response is looked at in the history and in the capture.
final class InspectorClient: Downstream {
    let requestBody: any BodySource
    private let none = NoClient()
    private(set) var isCommitted = false

    init(body: [UInt8]) { requestBody = BytesBody(body) }

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
    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink {
        isCommitted = true
        return none.begin(head, body)
    }
    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?) {}
    func openTunnel() -> (source: any BodySource, sink: any BodySink) { none.openTunnel() }
    func cutShort(atOnce: Bool) {}
    func abort() {}
}

extension Client {
    /// The person who runs lupin, by way of the inspector.
    static var inspector: Client {
        var client = Client.ourselves
        client.program = "lupin inspect"
        client.pid = ProcessOwner.processNumber
        client.number = ProcessOwner.userNumber
        return client
    }
}
