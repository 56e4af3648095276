// Heads, stored responses and moments for the tests of caching.

import LupinCaching
import LupinCore
import LupinPolicy

typealias CacheFields = [(String, String)]

/// A Sunday noon in November; moments in tests are counted from here.
let noon: Int64 = 1_795_348_800

/// So many seconds after noon, in microseconds.
func us(_ seconds: Double = 0) -> Int64 { noon * 1_000_000 + Int64(seconds * 1_000_000) }

/// So many seconds after noon, as fields have it.
func date(_ seconds: Int64 = 0) -> String { HTTPDate.text(noon + seconds) }

func fields(_ pairs: CacheFields) -> FieldSection {
    var section = FieldSection()
    for (name, value) in pairs { section.add(name: name, value: value) }
    return section
}

func get(_ pairs: CacheFields = [], method: Method = .get, path: String = "/") -> RequestHead {
    var head = RequestHead()
    head.method = method
    head.pathAndQuery = head.fields.store(path)
    for (name, value) in pairs { head.fields.add(name: name, value: value) }
    return head
}

func reply(_ pairs: CacheFields = [], status: UInt16 = 200) -> ResponseHead {
    var head = ResponseHead(status: status)
    for (name, value) in pairs { head.fields.add(name: name, value: value) }
    return head
}

func asked(_ head: RequestHead, hasContent: Bool = false) -> CacheRequest {
    CacheRequest(head, hasContent: hasContent)
}

extension CachePolicy {
    static func changed(_ change: (inout CachePolicy) -> Void) -> CachePolicy {
        var policy = CachePolicy.standard
        change(&policy)
        return policy
    }

    static let privateMode = changed { $0.mode = .private }
}

/// A response that came at noon and was stored whole, 100 bytes long.
func stored(
    _ pairs: CacheFields = [],
    status: UInt16 = 200,
    vary: VaryKey = .empty,
    content: HeldContent = HeldContent(complete: 100),
    policy: CachePolicy = .standard,
    after seconds: Double = 0
) -> StoredResponse {
    StoredResponse(
        reply(pairs, status: status),
        vary: vary,
        content: content,
        policy: policy,
        requestTimeUs: us(seconds),
        responseTimeUs: us(seconds)
    )
}
