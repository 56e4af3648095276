// A request as a client would send it, from the command line or from a record.
package import LupinCore
package import LupinPolicy
package import LupinRecords

/// A request that the rules are asked about, without sending it.
package struct ExplainedRequest: Sendable {
    /// With Host as its first field, unless the fields give one.
    package let head: RequestHead
    package let origin: Origin
    /// Whether it comes through a CONNECT, or is one.
    package let isByConnect: Bool
    package var client = IPAddress.v4(0x7F00_0001)
    package var program: String?
    package var user: String?
    /// The server name of the TLS in its CONNECT; nil for that of the URL.
    package var serverName: String?

    /// Every one of `fields` is one for which ``isField(name:value:)`` holds.
    package init(_ url: HTTPURL, method: Method, fields: [(name: String, value: String)]) {
        let isByConnect = url.origin.scheme == .https || method == .connect
        self.init(url, method, fields, isByConnect: isByConnect)
    }

    private init(
        _ url: HTTPURL,
        _ method: Method,
        _ fields: [(name: String, value: String)],
        isByConnect: Bool
    ) {
        origin = url.origin
        self.isByConnect = isByConnect
        var head = RequestHead()
        head.method = method
        if method == .connect {
            head.form = .authority
        } else {
            head.pathAndQuery = head.fields.store(url.path)
        }
        if !fields.contains(where: { $0.name.lowercased() == "host" }) {
            let port = method == .connect ? origin.hostAndPort : origin.authority
            head.fields.add(name: "Host", value: port)
        }
        for field in fields { head.fields.add(name: field.name, value: field.value) }
        self.head = head
    }

    /// The request of a recorded exchange; nil when the record has none.
    package init?(_ exchange: RecordedExchange) {
        let isTunnel = exchange.mode == "tunnel" || exchange.method == "CONNECT"
        guard let url = HTTPURL(isTunnel ? exchange.site : exchange.url) else { return nil }
        let known =
            exchange.original?.fields
            ?? exchange.values.flatMap { entry in entry.values.map { [entry.name, $0] } }
        // The URL holds the host; HTTP/2 has no Host field.
        let fields = known.filter { $0.count == 2 && Self.isField(name: $0[0], value: $0[1]) }
            .map { (name: $0[0], value: $0[1]) }
        // An https URL may come without a CONNECT, and an http URL through one.
        let isByConnect =
            isTunnel || exchange.mode == "intercept"
            || (exchange.mode != "http" && url.origin.scheme == .https)
        self.init(
            url,
            isTunnel ? .connect : Method(exchange.method),
            fields,
            isByConnect: isByConnect
        )
        if let address = exchange.client.address.flatMap(IPAddress.init) { client = address }
        program = exchange.client.program
        user = exchange.client.user
        serverName = exchange.serverName
    }

    /// Whether a request can have such a field.
    package static func isField(name: String, value: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
            && RequestStep.problem(withFieldValue: value) == nil
    }

    /// The request itself.
    package var subject: MatchSubject {
        MatchSubject(head, origin: origin, client: client, program: program, user: user)
    }

    /// The CONNECT through which the request arrives, if there is one.
    package var connectSubject: MatchSubject {
        MatchSubject(
            method: .connect,
            scheme: .https,
            host: origin.host,
            port: origin.port,
            pathAndQuery: .empty,
            fields: FieldSection(),
            client: client,
            program: program,
            user: user,
            isConnect: true
        )
    }
}
