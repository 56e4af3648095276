// A request to the admin interface, and its response.
import LupinCaching
import LupinCore
import LupinInspector
import LupinPolicy

/// A request below `/v1/`, whose client has access.
struct AdminRequest: Sendable {
    let method: Method
    /// Without the query.
    let path: String
    /// Path and query.
    let target: String
    let contentType: String
    let body: [UInt8]
    /// Where it came from.
    let entry: Entry

    enum Entry: Sendable {
        /// This user, or root.
        case socket
        /// The browser that has the inspector's page.
        case page
        /// A client with the token of `admin.http`, such as a monitoring program.
        case http
        /// Any client of the listener of `telemetry.prometheus`.
        case metrics

        /// Whether it is the owner's own.
        var isOwner: Bool { self == .socket || self == .page }
    }

    init(_ head: RequestHead, body: [UInt8], by entry: Entry) {
        self.entry = entry
        method = head.method
        target = head.pathText
        path = String(target.prefix { $0 != "?" })
        contentType = head.fields.value(of: "Content-Type") ?? ""
        self.body = body
    }

    var isReading: Bool { method == .get || method == .head }

    /// The first parameter of this name in the query, decoded.
    func parameter(_ name: String) -> String? {
        QueryParameters.decoded(of: target.utf8Span.span)
            .first { $0.name == Array(name.utf8) }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The number of this name in the query; nil without one.
    /// - Throws: The refusal of what is no number.
    func count(_ name: String) throws(AdminAnswer) -> Int? {
        guard let text = parameter(name) else { return nil }
        guard let number = QueryParameters.count(Substring(text)) else {
            throw AdminAnswer(400, sentence: "\(name) is a number")
        }
        return number
    }

    /// Demands that the request comes from the audience of a route.
    /// - Throws: The refusal of other clients.
    func demand(_ audience: AdminRoute.Audience) throws(AdminAnswer) {
        switch (audience, entry) {
        case (_, .socket), (.owner, .page), (.watcher, .page), (.watcher, .http): return
        case (.socket, _):
            throw AdminAnswer(403, sentence: "only the socket gives the text of the rules file")
        case (_, .http), (_, .metrics):
            throw AdminAnswer(403, sentence: "only the socket and the inspector may do this")
        }
    }

    /// Demands that the body says to be JSON.
    ///
    /// No page of another origin can send that type without being asked first (Fetch standard,
    /// CORS-safelisted request-header).
    /// - Throws: The refusal of anything else.
    func demandJSON() throws(AdminAnswer) {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        guard type.filter({ $0 != " " }) == "application/json" else {
            throw AdminAnswer(415, sentence: "send it as Content-Type: application/json")
        }
    }

    /// The body, which must be a JSON object and say so.
    /// - Throws: The refusal of anything else.
    func json() throws(AdminAnswer) -> JSONValue {
        try demandJSON()
        guard let value = JSONValue(parsing: body.span), case .object = value else {
            throw AdminAnswer(400, sentence: "the body is no JSON object")
        }
        return value
    }
}

/// A response of the admin interface, with its whole body.
struct AdminAnswer: Error {
    var status: UInt16
    var contentType = "application/json"
    var body: [UInt8]
    /// Additional fields.
    var fields: [(name: String, value: String)] = []
    var closes = false

    init(_ status: UInt16, _ line: JSONLine) {
        self.status = status
        body = line.bytes
        if body.last != 0x0A { body.append(0x0A) }
    }

    /// Creates an object; `add` appends its members.
    init(_ status: UInt16 = 200, _ add: (inout JSONLine) -> Void) {
        var line = JSONLine()
        line.openObject()
        add(&line)
        line.closeObject()
        self.init(status, line)
    }

    /// Creates a refusal with a sentence.
    init(_ status: UInt16, sentence: String) {
        self.init(status) { $0.add("error", text: sentence) }
    }

    /// Creates a response of another type.
    init(_ contentType: String, _ body: [UInt8]) {
        status = 200
        self.contentType = contentType
        self.body = body
    }

    /// Creates a file of the inspector's page, which can load nothing from elsewhere.
    init(page file: InspectorFile) {
        self.init(file.contentType, Array(file.text.utf8))
        fields = [
            ("Content-Security-Policy", Self.pagePolicy),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Frame-Options", "DENY"),
        ]
    }

    /// Scripts and styles of the page alone; images and previews only from memory.
    private static let pagePolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'
        """

    /// Creates the refusal of a method that a path doesn't know.
    static func notAllowed(_ methods: String) -> AdminAnswer {
        var answer = AdminAnswer(405, sentence: "this path knows \(methods) only")
        answer.fields = [("Allow", methods)]
        return answer
    }
}
