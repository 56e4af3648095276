// 101: the connection switches from HTTP to another protocol, such as WebSocket (RFC 9110 §7.8).
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

extension Exchange {
    /// Converts an extended CONNECT into the fields of an HTTP/1.1 upgrade request.
    /// - Throws: 501 when lupin does not know the protocol.
    func adoptProtocol() throws(LupinError) {
        guard let name = protocolName else { return }
        guard name.lowercased() == WebSocketHandshake.name else {
            throw .request(status: 501, detail: "The only extended CONNECT known is websocket.")
        }
        protocolName = WebSocketHandshake.name
        let key = WebSocketHandshake.newKey()
        webSocketKey = key
        changeFields { fields in
            fields.set(name: WebSocketHandshake.keyField, value: key)
            if fields.value(of: WebSocketHandshake.versionField) == nil {
                fields.set(name: WebSocketHandshake.versionField, value: "13")
            }
        }
    }

    /// Forwards a 101 and joins both sides, until both have ended.
    /// - Returns: Whether it was one; every other response has yet to be delivered.
    func upgrades(by response: ParsedResponse) async throws(LupinError) -> Bool {
        guard response.status == 101 else {
            try refuseFalseOpening(response.status)
            return false
        }
        try await upgrade(response)
        return true
    }

    /// Refuses a final response, of an origin or of lupin, by which the client of an extended
    /// CONNECT would take its WebSocket for open: in HTTP/2 every 2xx means that (RFC 8441 §5).
    func refuseFalseOpening(_ status: UInt16) throws(LupinError) {
        guard protocolName != nil, status / 100 == 2 else { return }
        throw LupinError(
            .httpUpgradeFailed,
            host: record.origin?.host.text,
            detail: "The answer \(status) opened no WebSocket, and over HTTP/2 it would say so."
        )
    }

    func upgrade(_ response: ParsedResponse) async throws(LupinError) {
        guard let upstream else { return }
        // A server must not switch to a protocol that the client did not name (RFC 9110 §7.8).
        let chosen = UpgradeList(response.head.fields)
        guard let wished = wishes.upgrade, chosen.isChoice(of: wished) else {
            throw LupinError(
                .httpUpgradeFailed,
                host: record.origin?.host.text,
                detail: "The origin switched to a protocol that the client did not ask for."
            )
        }
        // The rest of the request's body would be taken for bytes of the new protocol.
        guard isUploadDone else {
            throw LupinError(
                .httpUpgradeFailed,
                host: record.origin?.host.text,
                detail: "The origin switched protocols before it had the whole request."
            )
        }
        if let webSocketKey {
            let proof = response.head.fields.value(of: WebSocketHandshake.acceptField)
            guard proof == WebSocketHandshake.accept(webSocketKey) else {
                throw LupinError(
                    .httpUpgradeFailed,
                    host: record.origin?.host.text,
                    detail: "The origin's Sec-WebSocket-Accept does not fit the key."
                )
            }
        }
        record.mode = .upgrade
        var head = response.head
        HopByHop.mark(response: &head.fields, keepsAltSvc: interceptedTunnel == nil)
        record.response = head
        let via = via(received: .http11)
        downstream.beginUpgrade(head, to: chosen.text, via: via)
        try await join(upstream)
    }
}
