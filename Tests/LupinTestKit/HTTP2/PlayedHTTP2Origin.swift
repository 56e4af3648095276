// An origin that speaks HTTP/2 and that the test's own thread plays, frame by frame if need be.
package import LupinIO
import Synchronization

/// Listens on a port of the kernel's choice; the test accepts, reads and answers itself.
package final class PlayedHTTP2Origin: Sendable {
    private let origin: PlayedOrigin
    private let security: SecureSocket.Server?

    /// Listens; with `security` it speaks TLS, whose ALPN must choose h2.
    package init(
        at host: SocketAddress = .loopback(port: 0),
        security: SecureSocket.Server? = nil
    ) throws {
        origin = try PlayedOrigin(at: host)
        var security = security
        if security?.protocols.isEmpty == true { security?.protocols = ["h2"] }
        self.security = security
    }

    package var address: SocketAddress { origin.address }
    /// `127.0.0.1:port`.
    package var authority: String { origin.authority }
    /// `host:port`, for a host that is resolved to here.
    package func authority(_ host: String) -> String { origin.authority(host) }
    /// Whether a connection waits to be accepted now.
    package var hasWaiting: Bool { origin.hasWaiting }

    /// The next connection, whose SETTINGS have gone out and whose client's have come.
    package func accept(
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws -> HTTP2OriginConnection {
        guard let security else {
            let socket = try origin.listener.accept()
            return try HTTP2OriginConnection(socket, settings: settings, manners: manners)
        }
        let secured = try SecureSocket(over: try origin.listener.accept(), as: security)
        guard secured.facts.chosenProtocol == "h2" else {
            throw SocketFailure("ALPN chose \(secured.facts.chosenProtocol ?? "nothing")")
        }
        return try HTTP2OriginConnection(
            secured.plain,
            settings: settings,
            manners: manners,
            security: secured
        )
    }

    /// Later connections are refused.
    package func close() { origin.close() }
}

/// One connection to an origin that speaks HTTP/2.
package final class HTTP2OriginConnection: Sendable {
    package let frames: FrameStream
    /// The TLS that `frames` are inside of.
    package let security: SecureSocket?
    /// What the client's first SETTINGS said.
    package let clientSettings: [HTTP2Frame.Setting]
    private let lastRequested = Atomic<UInt32>(0)

    /// Sends SETTINGS and waits for the client's preface and SETTINGS.
    package init(
        _ socket: PlainSocket,
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners(),
        security: SecureSocket? = nil
    ) throws {
        frames = FrameStream(socket, to: .client, manners: manners, owner: security)
        self.security = security
        try frames.send(.settings(settings))
        clientSettings = try frames.firstSettings()
    }

    /// The client's value of a setting in its first SETTINGS.
    package func clientSetting(_ identifier: UInt16) -> UInt32? {
        clientSettings.last { $0.identifier == identifier }?.value
    }

    // MARK: Requests

    /// The head of the next request; the stream may go on.
    package func requestHead() throws -> HTTP2Message { try nextHead().message }

    /// The next request with its body and trailers, or as far as it came before its reset.
    package func request() throws -> HTTP2Message {
        let (message, ends) = try nextHead()
        return ends ? message : try rest(of: message)
    }

    /// What comes behind a head.
    package func rest(of head: HTTP2Message) throws -> HTTP2Message {
        try frames.message(on: head.stream, begun: head)
    }

    private func nextHead() throws -> (message: HTTP2Message, endsStream: Bool) {
        let last = lastRequested.load(ordering: .relaxed)
        let head = try frames.first("a request") { event in
            guard case .fields(let stream, let fields, let ends) = event, stream > last else {
                return (HTTP2Message, Bool)?.none
            }
            return (HTTP2Message(stream: stream, fields: fields), ends)
        }
        lastRequested.store(head.0.stream, ordering: .relaxed)
        return (head.0, head.1)
    }

    // MARK: Responses

    /// Sends a response with Content-Length, as the client's windows allow.
    package func reply(
        to stream: UInt32,
        _ status: Int = 200,
        _ fields: HTTP2Fields = [:],
        body: String = "",
        trailers: HTTP2Fields? = nil
    ) throws {
        let length: HTTP2Fields = ["content-length": "\(body.utf8.count)"]
        try frames.sendMessage(
            stream,
            Self.head(status) + length + fields,
            body: body.isEmpty ? nil : Array(body.utf8),
            trailers: trailers
        )
    }

    /// Sends the head of a response; DATA follows unless it ends the stream.
    package func sendHead(
        _ stream: UInt32,
        _ status: Int = 200,
        _ fields: HTTP2Fields = [:],
        end: Bool = false
    ) throws {
        let block = HPACK.block(Self.head(status) + fields)
        try frames.send(HTTP2Frame.headerFrames(stream, block: block, end: end))
    }

    /// Sends trailers, which end the stream.
    package func sendTrailers(_ stream: UInt32, _ fields: HTTP2Fields) throws {
        try frames.send(.headers(stream, fields, end: true))
    }

    private static func head(_ status: Int) -> HTTP2Fields { [":status": "\(status)"] }

    package func close() { frames.close() }
}
