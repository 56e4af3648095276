// The client's side of a request that the inspector sends: it has a body, and reads nothing.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// A client's side that sends a body from memory.
///
/// The response is looked at in the history and in the capture.
final class InspectorClient: AbsentClient {
    let requestBody: any BodySource
    private(set) var isCommitted = false

    init(body: [UInt8]) { requestBody = BytesBody(body) }

    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink {
        isCommitted = true
        return DiscardedBody()
    }
}

extension Client {
    /// The user that runs lupin, by way of the inspector.
    static var inspector: Client {
        var client = Client.ourselves
        client.program = "lupin inspect"
        client.pid = ProcessOwner.processNumber
        client.number = ProcessOwner.userNumber
        return client
    }
}
