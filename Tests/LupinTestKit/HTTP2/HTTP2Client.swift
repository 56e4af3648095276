// A client of HTTP/2 for tests: it begins properly, then sends what the test says.
package import LupinIO

/// One HTTP/2 connection to the proxy, by prior knowledge or inside TLS.
package final class HTTP2Client: Sendable {
    package let frames: FrameStream
    /// What the server's first SETTINGS said.
    package let serverSettings: [HTTP2Frame.Setting]

    /// Sends preface and SETTINGS, and waits for those of the server.
    ///
    /// - Parameters:
    ///   - socket: A connection on which nothing was read.
    ///   - settings: What the client's SETTINGS say.
    ///   - manners: What it sends by itself.
    ///   - owner: What `socket` is inside of, kept as long.
    /// - Throws: When the first frame of the server is no SETTINGS.
    package init(
        over socket: PlainSocket,
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners(),
        owner: (any Sendable)? = nil
    ) throws {
        frames = FrameStream(socket, to: .server, manners: manners, owner: owner)
        try frames.begin(.settings(settings))
        serverSettings = try frames.firstSettings()
    }

    /// Connects by prior knowledge (RFC 9113 §3.3).
    package convenience init(
        to address: SocketAddress,
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws {
        let socket = try PlainSocket.connect(to: address)
        try self.init(over: socket, settings: settings, manners: manners)
    }

    /// Goes on where `client` stands: behind TLS whose ALPN must have chosen h2, or in the clear.
    package convenience init(
        inside client: ScriptedClient,
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws {
        if let facts = client.security?.facts, facts.chosenProtocol != "h2" {
            throw SocketFailure("ALPN chose \(facts.chosenProtocol ?? "nothing")")
        }
        try self.init(
            over: client.stream.socket,
            settings: settings,
            manners: manners,
            owner: client
        )
    }

    /// The server's value of a setting in its first SETTINGS.
    package func serverSetting(_ identifier: UInt16) -> UInt32? {
        serverSettings.last { $0.identifier == identifier }?.value
    }

    // MARK: Requests

    /// Sends a request on the next stream, whose number it gives.
    @discardableResult
    package func send(
        _ fields: HTTP2Fields,
        body: [UInt8]? = nil,
        trailers: HTTP2Fields? = nil
    ) throws -> UInt32 {
        let stream = frames.nextStream()
        try frames.sendMessage(stream, fields, body: body, trailers: trailers)
        return stream
    }

    /// Sends the head of a request that goes on, such as a CONNECT.
    package func open(_ fields: HTTP2Fields) throws -> UInt32 {
        let stream = frames.nextStream()
        try frames.send(HTTP2Frame.headerFrames(stream, block: HPACK.block(fields)))
        return stream
    }

    /// The final response on `stream`, with the interim ones before it.
    package func response(on stream: UInt32, to method: String = "GET") throws -> HTTP2Message {
        try frames.message(on: stream, to: method)
    }

    /// Sends a request and reads its response.
    package func request(
        _ fields: HTTP2Fields,
        body: String? = nil,
        trailers: HTTP2Fields? = nil
    ) throws -> HTTP2Message {
        let stream = try send(fields, body: body.map { Array($0.utf8) }, trailers: trailers)
        return try response(on: stream, to: fields[":method"] ?? "")
    }

    package func request(
        _ method: String = "GET",
        scheme: String = "http",
        authority: String,
        path: String = "/",
        _ fields: HTTP2Fields = [:],
        body: String? = nil
    ) throws -> HTTP2Message {
        let head = HTTP2Fields.request(method, scheme: scheme, authority: authority, path: path)
        return try request(head + fields, body: body)
    }

    /// Sends GOAWAY and FIN, as a client does that wants nothing more.
    package func finish() throws {
        try frames.send(.goAway())
        frames.shutdownWrite()
    }

    package func close() { frames.close() }
    /// Closes with RST.
    package func reset() { frames.reset() }
}

extension FrameStream {
    /// The peer's next SETTINGS.
    package func firstSettings() throws -> [HTTP2Frame.Setting] {
        try first("SETTINGS") { event in
            if case .settings(let settings) = event { settings } else { nil }
        }
    }
}
