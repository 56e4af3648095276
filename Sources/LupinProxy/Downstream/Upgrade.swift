// 101: the connection switches from HTTP to another protocol, such as WebSocket (RFC 9110 §7.8).
import LupinCore
import LupinIO
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

    /// Forwards a 101 and joins both sides.
    func upgrade(_ response: ParsedResponse) async throws(LupinError) {
        guard let upstream else { return }
        guard let chosen = response.head.fields.value(of: .upgrade), hasAsked(for: chosen) else {
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
        HopByHop.mark(response: &head.fields, keepsAltSvc: enclosure == nil)
        record.response = head
        let via = via(received: .http11)
        downstream.beginUpgrade(head, to: chosen, via: via)
        try await join(upstream)
    }

    /// Whether the client named the protocol: a server must not switch to another (RFC 9110 §7.8).
    ///
    /// Names are compared without case and without versions.
    private func hasAsked(for chosen: String) -> Bool {
        let wished = Exchange.protocolNames(wishes.upgrade ?? "")
        let names = Exchange.protocolNames(chosen)
        return !names.isEmpty && names.isSubset(of: wished)
    }

    private static func protocolNames(_ list: String) -> Set<String> {
        Set(
            list.lowercased().split(separator: ",").map { member in
                String(member.prefix { $0 != "/" }.filter { $0 != " " && $0 != "\t" })
            }
        )
    }
}
