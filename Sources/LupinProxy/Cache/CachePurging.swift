// PURGE: drops the stored responses of a URL, if the client may do that.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore

extension Exchange {
    /// Answers a PURGE: drops the stored responses of its URL, and of the URL that the steps of
    /// rules make of it, in all partitions.
    ///
    /// - Throws: The refusal of a client that is neither lupin's own user nor root.
    func purge(at target: KnownTarget) async throws(LupinError) {
        guard let policy = plan?.cache else { return }
        let number = await clientNumber()
        guard number == SystemUsers.own || number == 0 else {
            throw .request(
                status: 403,
                host: target.origin.host.text,
                detail: CachePurge.refusal
            )
        }
        let asked = CacheKey(request, to: target.origin, partition: "")
        let adapted = try await adapt(for: target, signs: false)
        let sent = CacheKey(adapted.head, to: adapted.origin, partition: "")
        for key in Set([asked, sent]) { resources.redis?.drop(key) }
        let purged = try await purge(Set([asked, sent].map { String($0.url) }))
        note(cache: purged.text())
        var response = GeneratedResponse(
            status: purged.status,
            contentType: "text/plain; charset=utf-8",
            body: purged.sentence + "\n"
        )
        if let name = policy.statusName {
            response.head.fields.add(name: "Cache-Status", value: purged.text(name: name))
        }
        try await send(response)
    }
}

extension CachePurge {
    /// Adds the responses that memory had and the disk had not; call it when the disk is done.
    func adding(_ dropped: [CachedResponse]) -> CachePurge {
        var sum = self
        for response in dropped where response.diskHandle?.id == nil {
            sum.responses += 1
            sum.bytes += response.bytes
        }
        return sum
    }
}
