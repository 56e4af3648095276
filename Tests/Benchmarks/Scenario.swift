// What is measured: the jobs, and what each of them asks of the load generator.
import ArgumentParser

/// One job that a proxy is given.
enum Scenario: String, CaseIterable, Codable, ExpressibleByArgument {
    case keepAlive = "keep-alive"
    case newConnections = "new-connections"
    case bodies
    case tunnel
    case idle
    case smallTunnel = "tunnel-small"
    case intercepted
    case interceptedNew = "intercepted-new"
    case interceptedBodies = "intercepted-bodies"
    case interceptedIdle = "intercepted-idle"
    case h2
    case h2Secure = "h2-tls"
    case h2Intercepted = "h2-intercepted"
    case h2Bodies = "h2-bodies"
    case keepAliveVaried = "keep-alive-varied"
    case postVaried = "post-varied"
    case newConnectionsVaried = "new-connections-varied"
    case rulesVaried = "rules-varied"
    case cachedVaried = "cached-varied"
    case interceptedVaried = "intercepted-varied"
    case h2Varied = "h2-varied"
    case h2SecureVaried = "h2-tls-varied"
    case h2InterceptedVaried = "h2-intercepted-varied"

    /// Which figures say something about a job.
    enum Kind {
        /// Many small exchanges: time per request counts.
        case requests
        /// Few long ones: bytes count.
        case bytes
        /// Connections that do nothing: memory counts.
        case memory
    }

    var kind: Kind {
        switch self {
        case .keepAlive, .newConnections, .smallTunnel, .intercepted, .interceptedNew, .h2,
            .h2Secure, .h2Intercepted, .keepAliveVaried, .postVaried, .newConnectionsVaried,
            .rulesVaried, .cachedVaried, .interceptedVaried, .h2Varied, .h2SecureVaried,
            .h2InterceptedVaried:
            .requests
        case .bodies, .tunnel, .interceptedBodies, .h2Bodies: .bytes
        case .idle, .interceptedIdle: .memory
        }
    }

    var title: String {
        switch self {
        case .keepAlive: "GET 1 KiB, keep-alive, 64 connections"
        case .newConnections: "GET 1 KiB, new connection per request, 64 at once"
        case .bodies: "GET 10 MB, keep-alive, 8 connections"
        case .tunnel: "CONNECT tunnel, 10 MB at a time, 8 connections"
        case .idle: "2,000 connections held idle after one request each"
        case .smallTunnel: "CONNECT tunnel, 1 KiB at a time, 64 connections"
        case .intercepted: "TLS interception, GET 1 KiB, keep-alive, 64 connections"
        case .interceptedNew:
            "TLS interception, new CONNECT and full handshake per request, 32 at once"
        case .interceptedBodies: "TLS interception, GET 10 MB, keep-alive, 8 connections"
        case .interceptedIdle:
            "TLS interception, 2,000 connections held idle after one request each"
        case .h2: "HTTP/2 in clear to HTTP/1.1, GET 1 KiB, 4 connections of 100 streams"
        case .h2Secure:
            "HTTP/2 over TLS to HTTP/1.1, GET 1 KiB, 4 connections of 100 streams"
        case .h2Intercepted:
            "TLS interception, HTTP/2 to HTTP/2, GET 1 KiB, 4 connections of 100 streams"
        case .h2Bodies:
            "TLS interception, HTTP/2 to HTTP/2, GET 10 MB, 4 connections of 2 streams"
        case .keepAliveVaried: "as keep-alive, all requests and answers different"
        case .postVaried: "as keep-alive-varied, POST 1 KiB"
        case .newConnectionsVaried: "as new-connections, all requests and answers different"
        case .rulesVaried: "as keep-alive-varied, with 200 rules of which three match"
        case .cachedVaried:
            "as keep-alive, from the cache, 1,000 URLs in turn, all requests different"
        case .interceptedVaried: "as intercepted, all requests and answers different"
        case .h2Varied: "as h2, all requests and answers different"
        case .h2SecureVaried: "as h2-tls, all requests and answers different"
        case .h2InterceptedVaried: "as h2-intercepted, all requests and answers different"
        }
    }

    /// What lupin does beside forwarding.
    var rules: LupinRules {
        switch self {
        case .rulesVaried: .many
        case .cachedVaried: .cache
        default: .none
        }
    }

    /// What the load generator does, as far as the job decides it.
    var plan: LoadPlan {
        switch self {
        case .keepAlive: LoadPlan(connections: 64, bodyBytes: 1024)
        case .newConnections:
            LoadPlan(connections: 64, bodyBytes: 1024, isNewConnectionPerRequest: true)
        case .bodies: LoadPlan(connections: 8, bodyBytes: 10_000_000)
        case .tunnel: LoadPlan(connections: 8, bodyBytes: 10_000_000, isTunnel: true)
        case .idle: LoadPlan(connections: 2000, bodyBytes: 1024, isHeldIdle: true)
        case .smallTunnel: LoadPlan(connections: 64, bodyBytes: 1024, isTunnel: true)
        case .intercepted: LoadPlan(connections: 64, bodyBytes: 1024, isIntercepted: true)
        case .interceptedNew:
            LoadPlan(
                connections: 32,
                bodyBytes: 1024,
                isNewConnectionPerRequest: true,
                isIntercepted: true
            )
        case .interceptedBodies:
            LoadPlan(connections: 8, bodyBytes: 10_000_000, isIntercepted: true)
        case .interceptedIdle:
            LoadPlan(connections: 2000, bodyBytes: 1024, isIntercepted: true, isHeldIdle: true)
        case .h2: LoadPlan(connections: 4, bodyBytes: 1024, streams: 100)
        case .h2Secure:
            LoadPlan(connections: 4, bodyBytes: 1024, isListenerSecure: true, streams: 100)
        case .h2Intercepted:
            LoadPlan(connections: 4, bodyBytes: 1024, isIntercepted: true, streams: 100)
        case .h2Bodies:
            LoadPlan(connections: 4, bodyBytes: 10_000_000, isIntercepted: true, streams: 2)
        case .keepAliveVaried, .rulesVaried: Scenario.keepAlive.plan.varied()
        case .postVaried: Scenario.keepAlive.plan.varied(uploadBytes: 1024)
        case .newConnectionsVaried: Scenario.newConnections.plan.varied()
        case .cachedVaried: Scenario.keepAlive.plan.varied(urls: 1000)
        case .interceptedVaried: Scenario.intercepted.plan.varied()
        case .h2Varied: Scenario.h2.plan.varied()
        case .h2SecureVaried: Scenario.h2Secure.plan.varied()
        case .h2InterceptedVaried: Scenario.h2Intercepted.plan.varied()
        }
    }
}
