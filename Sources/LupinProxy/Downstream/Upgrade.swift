// 101: the connection leaves HTTP, for a WebSocket say (RFC 9110 §7.8).
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// Passes a 101 on and joins both sides.
    func upgrade(_ response: ParsedResponse) async throws(LupinError) {
        guard let upstream else { return }
        guard wishes.upgrade != nil, let chosen = response.head.fields.value(of: .upgrade) else {
            throw LupinError(
                .httpUpgradeFailed, host: record.origin?.host.text,
                detail: "The origin switched protocols although the client did not ask for it.")
        }
        record.mode = .upgrade
        var head = response.head
        HopByHop.mark(response: &head.fields, keepsProxyAuthenticate: false)
        record.response = head
        let via = snapshot.via(received: .http11, pseudonym: resources.shared.pseudonym)
        downstream.beginUpgrade(head, to: chosen, via: via)
        try await join(upstream)
    }
}
