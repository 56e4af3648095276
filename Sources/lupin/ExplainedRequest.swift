// The request that `lupin explain` explains, as a client would send it.
import ArgumentParser
import LupinCore

/// A request from the command line or from a record.
struct ExplainedRequest {
    /// With Host as its first field, unless the fields give one.
    let head: RequestHead
    let origin: Origin
    var client = IPAddress.v4(0x7F00_0001)
    var program: String?
    var user: String?
    /// The server name of the TLS in its CONNECT; nil for that of the URL.
    var serverName: String?

    init(_ url: HTTPURL, method: Method, fields: [FieldArgument]) {
        origin = url.origin
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
    init?(_ exchange: RecordedExchange) {
        let isTunnel = exchange.mode == "tunnel" || exchange.method == "CONNECT"
        guard let url = HTTPURL(isTunnel ? exchange.site : exchange.url) else { return nil }
        let known =
            exchange.original?.fields
            ?? exchange.values.flatMap { entry in entry.values.map { [entry.name, $0] } }
        // The URL holds the host; HTTP/2 has no Host field.
        let fields = known.compactMap { FieldArgument(argument: "\($0[0]): \($0[1])") }
        self.init(url, method: isTunnel ? .connect : Method(exchange.method), fields: fields)
        if let address = exchange.client.address.flatMap(IPAddress.init) { client = address }
        program = exchange.client.program
        user = exchange.client.user
        serverName = exchange.serverName
    }

    /// The request itself.
    var subject: MatchSubject {
        MatchSubject(head, origin: origin, client: client, program: program, user: user)
    }

    /// The CONNECT through which the request arrives, if there is one.
    var connectSubject: MatchSubject {
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

/// `-H 'Name: value'`.
struct FieldArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = String(argument[..<colon])
        let value = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte),
            RequestStep.problem(withFieldValue: String(value)) == nil
        else { return nil }
        self.name = name
        self.value = String(value)
    }
}

/// `-X METHOD`.
struct MethodArgument: ExpressibleByArgument {
    let method: Method

    init?(argument: String) {
        guard !argument.isEmpty, argument.utf8.allSatisfy(\.isTokenByte) else { return nil }
        method = Method(argument)
    }
}
