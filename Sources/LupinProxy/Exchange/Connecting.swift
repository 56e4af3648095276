// How an exchange reaches servers: on whose behalf, until when, and what it notes meanwhile.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

extension Exchange {
    /// Reaches servers on behalf of the exchange, for its attempt under way.
    var connector: OriginConnector {
        var connector = OriginConnector(in: slot, resources, snapshot.upstream)
        connector.client = client.address
        connector.timeouts = timeouts.connecting
        connector.deadline = attemptDeadline
        connector.interruptions = { self.interruptions }
        connector.proxy = plan?.proxy
        connector.parentTunnel = interceptedTunnel?.parentTunnel
        connector.via = via(received: request.version)
        return connector
    }

    /// Notes that a connection is being made, until `endConnecting`.
    func beginConnecting() -> ConnectionNotes {
        let notes = ConnectionNotes()
        connecting = notes
        return notes
    }

    func endConnecting() {
        if let trust = connecting?.trust { record.trust = trust }
        connecting = nil
    }
}

extension Exchange {
    /// Whether a request is its client's by a login to the connection, which no other one has.
    ///
    /// The login is one to the next hop, or that of the client's tunnel through a parent proxy.
    func isByLogin(_ request: AdaptedRequest) -> Bool {
        isByOwnLogin(request) || request.hop.isByLogin
    }

    /// The same, where the connection to the next hop is the one that the client logs in to.
    func isByOwnLogin(_ request: AdaptedRequest) -> Bool {
        request.logsInToConnection || downstream.bound?.leads(to: request.hop) == true
    }
}

extension AttemptRecord {
    mutating func take(_ notes: ConnectionNotes) {
        let blocked = timing.blocked
        timing = notes.timing
        timing.blocked = blocked
        peer = notes.peer?.address
        peerPort = notes.peer?.port ?? 0
        tls = notes.tls
    }
}
