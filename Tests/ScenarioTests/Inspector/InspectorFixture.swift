// How a test asks for what the inspector's page asks for.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

/// The listener of the inspector's page, as a browser sees it.
struct InspectorFixture {
    let address: SocketAddress
    /// The code in the address that `lupin inspect` opens.
    let code: String

    init(_ proxy: ProxyFixture) throws {
        let url = try #require(
            RecordLine(try proxy.admin("POST", "/v1/inspector").bodyText)?["url"],
            "no address of the page"
        )
        let parts = url.split(separator: "/")
        let port = try #require(parts[1].split(separator: ":").last.flatMap { UInt16($0) })
        address = .loopback(port: port)
        code = String(try #require(parts[2].split(separator: "=").last))
    }

    var origin: String { "http://\(address)" }

    /// Sends one request on a connection of its own.
    func ask(
        _ method: String = "GET",
        _ path: String,
        _ fields: [String] = [],
        json: String? = nil
    ) throws -> ScriptedMessage {
        let client = try ScriptedClient(to: address)
        defer { client.close() }
        var fields = fields
        if json != nil { fields.append("Content-Type: application/json") }
        if !fields.contains(where: { $0.hasPrefix("Host:") }) { fields.append("Host: \(address)") }
        let length = "Content-Length: \(json?.utf8.count ?? 0)"
        let lines = ["\(method) \(path) HTTP/1.1"] + fields + [length]
        try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (json ?? ""))
        return try client.response(to: method)
    }

    /// Exchanges the code for a token, as the page does.
    func token() throws -> String {
        let answer = try ask("POST", "/v1/session", json: "{\"code\":\"\(code)\"}")
        return try #require(RecordLine(answer.bodyText)?["token"], "\(answer.bodyText)")
    }
}

extension ProxyFixture {
    /// Opens the page in a browser, which finds nothing to say about it.
    ///
    /// With `refusing` it may have refused what a captured page wanted; with `holding` the page
    /// goes on with that hold.
    func browse(
        refusing: Bool = false,
        holding hold: String? = nil,
        _ body: (Browser, InspectorFixture) throws -> Void
    ) throws {
        let inspector = try InspectorFixture(self)
        let browser = try Browser()
        defer { browser.close() }
        let tail = hold.map { "&hold=\($0)" } ?? ""
        try browser.open("\(inspector.origin)/#code=\(inspector.code)\(tail)")
        try browser.waitFor("Time", in: "#list")
        try body(browser, inspector)
        let said = try browser.console()
        #expect(said.filter { !refusing || !$0.contains("Content Security Policy") } == [])
    }

    /// Sends a request with a JSON body to the admin socket.
    @discardableResult
    func admin(_ method: String, _ path: String, json: String) throws -> ScriptedMessage {
        let client = try adminClient()
        defer { client.close() }
        try client.send(
            method,
            "http://lupin\(path)",
            ["Content-Type: application/json"],
            body: json
        )
        return try client.response(to: method)
    }

    /// Waits for the record of an exchange that the admin interface started.
    func exchange(_ id: String) throws -> RecordLine {
        var found: RecordLine?
        try eventually("the exchange \(id) has ended") {
            let answer = try? admin("GET", "/v1/exchanges/\(id)")
            found = answer.flatMap { RecordLine($0.bodyText) }
            return found?["record.id"] == id
        }
        return try #require(found)
    }
}
