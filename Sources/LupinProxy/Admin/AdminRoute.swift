// Every route of the admin interface: its path, its methods, and its audience.
import LupinCore

/// What can be asked of the admin interface below `/v1/`.
///
/// A route without an audience does not compile.
enum AdminRoute: CaseIterable, Sendable {
    case status, metrics, reload
    case rulesText, listRules, previewRule, appendRule
    case origins
    case bypasses, clearBypasses
    case cache, clearCache, storedResponses, dropStoredResponses
    // Before the routes of one exchange, whose ID may be any word.
    case exchanges, liveExchanges
    case exchange, cancelExchange, body, messages, explanation, note, deleteCaptured
    case archiveOfExchanges, keepArchive, archive
    case openInspector, capture, setCapture, clearCapture, hold, endHold
    case send

    /// Who may use a route.
    enum Audience: Sendable {
        /// Also clients with the token of `admin.http`: programs that only watch.
        case watcher
        /// The user of this lupin, by the socket or the inspector's page.
        case owner
        /// The same by the socket alone.
        case socket
    }

    /// The clients that may use the route.
    ///
    /// A watcher sees what the log says. The text of the rules, bodies and notes are the owner's,
    /// and so is whatever changes something.
    var audience: Audience {
        switch self {
        case .status, .metrics, .origins, .bypasses, .cache, .storedResponses, .exchanges,
            .liveExchanges,
            .exchange, .capture:
            .watcher
        case .reload, .listRules, .previewRule, .appendRule, .clearBypasses, .clearCache,
            .dropStoredResponses, .cancelExchange, .body, .messages, .explanation, .note,
            .deleteCaptured, .archiveOfExchanges, .keepArchive, .archive, .openInspector,
            .setCapture, .clearCapture, .hold, .endHold, .send:
            .owner
        case .rulesText: .socket
        }
    }

    /// Whether it is about what was captured of an exchange that may just have ended.
    ///
    /// The list is not: pages ask for it all the time.
    var waitsForCapture: Bool {
        switch self {
        case .exchange, .body, .messages, .deleteCaptured, .archiveOfExchanges, .clearCapture,
            .send:
            true
        case .status, .metrics, .reload, .rulesText, .listRules, .previewRule, .appendRule,
            .origins, .bypasses, .clearBypasses, .cache, .clearCache, .storedResponses,
            .dropStoredResponses, .exchanges, .liveExchanges, .cancelExchange, .explanation, .note,
            .keepArchive, .archive, .openInspector, .capture, .setCapture, .hold, .endHold:
            false
        }
    }

    /// Its method, where GET stands for HEAD, too, and its path; `*` is any word.
    var endpoint: (method: Method, path: String) {
        switch self {
        case .status: (.get, "/v1/status")
        case .metrics: (.get, "/v1/metrics")
        case .reload: (.post, "/v1/reload")
        case .rulesText: (.get, "/v1/rules")
        case .listRules: (.get, "/v1/rules/list")
        case .previewRule: (.post, "/v1/rules/preview")
        case .appendRule: (.post, "/v1/rules/append")
        case .origins: (.get, "/v1/origins")
        case .bypasses: (.get, "/v1/bypasses")
        case .clearBypasses: (.delete, "/v1/bypasses")
        case .cache: (.get, "/v1/cache")
        case .clearCache: (.delete, "/v1/cache")
        case .storedResponses: (.get, "/v1/cache/responses")
        case .dropStoredResponses: (.delete, "/v1/cache/responses")
        case .exchanges: (.get, "/v1/exchanges")
        case .liveExchanges: (.get, "/v1/exchanges/live")
        case .exchange: (.get, "/v1/exchanges/*")
        case .cancelExchange: (.delete, "/v1/exchanges/*")
        case .body: (.get, "/v1/exchanges/*/bodies/*")
        case .messages: (.get, "/v1/exchanges/*/messages")
        case .explanation: (.get, "/v1/exchanges/*/explain")
        case .note: (.put, "/v1/exchanges/*/note")
        case .deleteCaptured: (.delete, "/v1/exchanges/*/capture")
        case .archiveOfExchanges: (.get, "/v1/har")
        case .keepArchive: (.post, "/v1/archives")
        case .archive: (.get, "/v1/archives/*")
        case .openInspector: (.post, "/v1/inspector")
        case .capture: (.get, "/v1/capture")
        case .setCapture: (.put, "/v1/capture")
        case .clearCapture: (.delete, "/v1/capture")
        case .hold: (.put, "/v1/capture/holds/*")
        case .endHold: (.delete, "/v1/capture/holds/*")
        case .send: (.post, "/v1/send")
        }
    }

    /// The route of a request, and the words of its path where the route's has `*`.
    /// - Throws: 404 for a path that is none, 405 for a method that its path doesn't know.
    static func find(_ request: AdminRequest) throws(AdminAnswer) -> (Self, words: [Substring]) {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        var methods: [Method] = []
        // A path of its own is no example of one with `*`.
        let isPlain = allCases.contains { $0.endpoint.1 == request.path }
        for route in allCases {
            let (method, path) = route.endpoint
            if isPlain, path != request.path { continue }
            let words = path.split(separator: "/", omittingEmptySubsequences: false)
            guard words.count == parts.count,
                zip(words, parts).allSatisfy({ $0 == "*" || $0 == $1 })
            else { continue }
            if method == request.method || (method == .get && request.isReading) {
                return (route, zip(words, parts).filter { $0.0 == "*" }.map(\.1))
            }
            let known = method == .get ? [.get, .head] : [method]
            methods += known.filter { !methods.contains($0) }
        }
        guard !methods.isEmpty else { throw nothing }
        throw .notAllowed(methods.map(\.token).joined(separator: ", "))
    }

    /// The refusal of a path that leads to nothing.
    static let nothing = AdminAnswer(
        404,
        sentence: "there is nothing at this path; /v1/status is one"
    )
}
