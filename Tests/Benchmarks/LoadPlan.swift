// What the two sides of a load process tell each other: the order, and what came of it.

/// What a load process is to do.
struct LoadPlan: Codable, Sendable {
    var proxyPort: UInt16 = 0
    var originPort: UInt16 = 0
    var connections: Int
    /// Length of every response, or of every piece that comes through a tunnel.
    var bodyBytes: Int
    var isNewConnectionPerRequest = false
    /// CONNECT first, then bytes that are no HTTP.
    var isTunnel = false
    /// CONNECT first, then HTTP over TLS that the proxy opens.
    var isIntercepted = false
    /// TLS with the proxy itself, as with an HTTPS proxy.
    var isListenerSecure = false
    /// No two requests are equal, and neither are their answers, which name them.
    var isVaried = false
    /// Different URLs of varied requests, asked for in turn; 0 gives every request its own.
    var urls = 0
    /// The number of the first varied request: no two processes of a run may begin with the same.
    var firstRequest: UInt64 = 0
    /// Length of the body of a varied request of HTTP/1.1, which is a POST then; 0 for a GET.
    var uploadBytes = 0
    /// Requests at a time on each connection, by HTTP/2; 0 is HTTP/1.1 and one at a time.
    var streams = 0
    /// PEM of the root below which the proxy's certificates must be; nil believes any.
    var rootFile: String?
    /// One request on each connection, then nothing until a line comes on standard input.
    var isHeldIdle = false
    var warmUpSeconds = 0.0
    var seconds = 0.0
    /// Ends the run early; 0 for no bound.
    var requestsMax = 0

    /// The same plan with requests and answers that all differ.
    func varied(urls: Int = 0, uploadBytes: Int = 0) -> LoadPlan {
        var plan = self
        plan.isVaried = true
        plan.urls = urls
        plan.uploadBytes = uploadBytes
        return plan
    }

    /// Whether the load speaks TLS, with whomever.
    var isSecure: Bool { isIntercepted || isListenerSecure }

    /// The origin as the proxy is told of it.
    ///
    /// What is intercepted has a name, so that SNI and certificates are the usual ones.
    var originHost: String { isIntercepted ? Certificates.originName : "127.0.0.1" }
}

/// What a load process saw in its measured window.
struct LoadResult: Codable, Sendable {
    /// Complete and correct responses.
    var requests = 0
    /// Body bytes, those of unfinished responses too.
    var bytes = 0
    var seconds = 0.0
    var p50Us = 0.0
    var p99Us = 0.0
    var p999Us = 0.0
    /// Since the start of the process, warm-up included.
    var errors = 0
    var firstError = ""
    /// Kept-alive connections that the proxy closed after a response.
    var reconnects = 0
    /// Connections that are still open at the end of an idle run.
    var stillOpen = 0
}

/// The lines a load process prints; each stands alone on its line.
enum LoadLine {
    /// The warm-up is over.
    static let start = "START"
    /// The measured window is over.
    static let stop = "STOP"
    /// Every connection has had its response and is held.
    static let held = "HELD"
    /// A `LoadResult` as JSON follows on the same line.
    static let result = "RESULT "
}
