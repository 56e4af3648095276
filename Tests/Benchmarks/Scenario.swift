// What is measured: the jobs, and what each of them asks of the load generator.
import ArgumentParser

/// One job that a proxy is given.
enum Scenario: String, CaseIterable, Codable, ExpressibleByArgument {
    case keepAlive = "keep-alive"
    case newConnections = "new-connections"
    case bodies
    case tunnel
    case idle

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
        case .keepAlive, .newConnections: .requests
        case .bodies, .tunnel: .bytes
        case .idle: .memory
        }
    }

    var title: String {
        switch self {
        case .keepAlive: "GET 1 KiB, keep-alive, 64 connections"
        case .newConnections: "GET 1 KiB, new connection per request, 64 at once"
        case .bodies: "GET 10 MB, keep-alive, 8 connections"
        case .tunnel: "CONNECT tunnel, 10 MB at a time, 8 connections"
        case .idle: "2,000 connections held idle after one request each"
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
        }
    }
}
