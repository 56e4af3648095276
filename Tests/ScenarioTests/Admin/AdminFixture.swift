// How a test asks the admin interface of its proxy.
import LupinTestKit
import Testing

extension ProxyFixture {
    /// The setting by which a test's proxy has a socket of its own.
    static let adminSocket = "admin: {socket: DIR/admin}\n"

    var adminPath: String { "\(directory)/admin" }

    /// A connection to the admin socket, to be closed by whoever asks.
    func adminClient() throws -> ScriptedClient {
        ScriptedClient(over: try PlainSocket.connect(toPath: adminPath))
    }

    /// Sends one request on a connection of its own.
    func admin(_ method: String = "GET", _ path: String) throws -> ScriptedMessage {
        let client = try adminClient()
        defer { client.close() }
        try client.send("\(method) \(path) HTTP/1.1\r\nHost: lupin\r\n\r\n")
        return try client.response(to: method)
    }

    /// The answer to a GET as JSON.
    func adminJSON(_ path: String) throws -> RecordLine {
        try #require(RecordLine(try admin("GET", path).bodyText), "no JSON at \(path)")
    }
}
