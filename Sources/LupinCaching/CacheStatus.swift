// How the cache handled a request, for clients and the record (RFC 9211).

import LupinCore
import LupinPolicy

/// A member of Cache-Status.
package struct CacheStatus: Sendable, Equatable {
    /// Why a request went to the origin (§2.2), in the words of the field.
    package enum Forward: String, Sendable, Hashable, CaseIterable {
        /// The rules say so, or the request can't be answered from a store.
        case bypass
        case method
        /// No response is stored under the URL.
        case uriMiss = "uri-miss"
        /// Responses are stored, for other requests.
        case varyMiss = "vary-miss"
        /// No response fits, and it is unknown which of the two applies.
        case miss
        /// The client demanded validation.
        case request
        case stale
        case partial
    }

    /// The maximum bytes of `key` and `detail`; longer ones are cut.
    static let textBytesMax = 512

    /// nil for a hit.
    package var forward: Forward?
    /// The remaining lifetime of the stored response in seconds; negative when it is stale.
    package var ttl: Int64?
    /// The status of the origin's response, if it differs from the client's.
    package var forwardStatus: UInt16?
    package var isStored = false
    /// The request waited for another one's fetch.
    package var isCollapsed = false
    package var key: String?
    /// Neither from the store nor from the origin: the cache itself answered, such as a PURGE.
    package var isAnsweredHere = false
    /// A detail such as `NoStoreReason.token`.
    package var detail: String?

    /// Served without a request to the origin.
    package static func hit(ttl: Int64) -> CacheStatus {
        var status = CacheStatus()
        status.ttl = ttl
        return status
    }

    /// Forwarded to the origin.
    package static func forward(_ reason: Forward, status: UInt16? = nil) -> CacheStatus {
        var member = CacheStatus()
        member.forward = reason
        member.forwardStatus = status
        return member
    }

    /// The member as in the field and the record; parameters in the order of RFC 9211.
    package func text(name: String = CachePolicy.defaultStatusName) -> String {
        if let ttl, (-CacheStatus.integerMax...CacheStatus.integerMax).contains(ttl),
            forward == nil, forwardStatus == nil, key == nil, detail == nil,
            !isStored, !isCollapsed, name == CachePolicy.defaultStatusName
        {
            // A fast path for the most frequent member.
            var bytes: [UInt8] = []
            bytes.appendText(atMost: 64) { output in
                output.append(literal: ttl < 0 ? "lupin; hit; ttl=-" : "lupin; hit; ttl=")
                output.append(decimal: ttl.magnitude)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        var text = CacheStatus.item(name)
        if let forward {
            text += "; fwd=\(forward.rawValue)"
        } else if !isAnsweredHere {
            text += "; hit"
        }
        if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
        if let ttl {
            text += "; ttl=\(min(max(ttl, -CacheStatus.integerMax), CacheStatus.integerMax))"
        }
        if isStored { text += "; stored" }
        if isCollapsed { text += "; collapsed" }
        if let key { text += "; key=\(CacheStatus.string(key))" }
        if let detail { text += "; detail=\(CacheStatus.item(detail))" }
        return text
    }

    /// Integers of structured fields have at most 15 digits.
    private static let integerMax: Int64 = 999_999_999_999_999

    /// A Token when the text is valid as one (RFC 9651 §3.3.4), else a String.
    private static func item(_ text: String) -> String {
        let bytes = text.utf8
        guard let first = bytes.first, first == 0x2A || first.asciiLowercased &- 0x61 < 26,
            bytes.count <= textBytesMax,
            bytes.allSatisfy({ $0.isTokenByte || $0 == 0x3A || $0 == 0x2F })
        else { return string(text) }
        return text
    }

    /// A String (§3.3.3); invalid characters become `?`.
    private static func string(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for byte in text.utf8 {
            // The first byte of a multi-byte character stands for all of it.
            if byte & 0xC0 == 0x80 { continue }
            if bytes.count > textBytesMax { break }
            if byte == 0x22 || byte == 0x5C { bytes.append(0x5C) }
            bytes.append((0x20...0x7E).contains(byte) ? byte : 0x3F)
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ReuseDecision {
    /// Why the request is forwarded; nil when it isn't.
    package var forward: CacheStatus.Forward? {
        switch self {
        case .fresh, .gatewayTimeout: nil
        case .stale(_, _, .now), .stale(_, _, .whileRevalidating): nil
        case .stale: .stale
        case .validate(let reason, _, _, _): reason.isAsked ? .request : .stale
        case .incomplete: .partial
        case .bypass(.method): .method
        case .bypass: .bypass
        }
    }
}
