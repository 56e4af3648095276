// An origin that serves ranges as RFC 9110 §14 has it, of a representation that may change.
import LupinTestKit
import Synchronization
import Testing

/// Serves one representation: whole, or a range of it under Range and If-Range.
final class PartsOrigin: Sendable {
    enum Deed: Sendable {
        /// As RFC 9110 wants it.
        case normal
        /// The same, but FIN after so many bytes of the body.
        case breakOff(Int)
        /// The whole, whatever is asked for.
        case whole
        /// A head and the bytes of a range, whatever is asked for.
        case say(String, Range<Int>)
    }

    private struct State {
        var body: [UInt8]
        var tag: String
        var deeds: [Deed] = []
        var requests: [ScriptedMessage] = []
    }

    private let state: Mutex<State>
    private let fields: [String]

    init(
        _ count: Int = 4000,
        tag: String = "\"v1\"",
        fields: [String] = ["Cache-Control: max-age=600"],
        _ deeds: Deed...
    ) {
        self.fields = fields
        state = Mutex(State(body: LongBody.bytes(count), tag: tag, deeds: deeds))
    }

    var body: [UInt8] { state.withLock { $0.body } }
    var requests: [ScriptedMessage] { state.withLock { $0.requests } }
    var asked: Int { requests.count }
    /// Range and If-Range of each request.
    var ranges: [String] {
        requests.map { [$0["Range"], $0["If-Range"]].compactMap(\.self).joined(separator: " ") }
    }

    /// What the next requests come to; all behind them are normal.
    func plan(_ deeds: Deed...) { state.withLock { $0.deeds = deeds } }

    /// Another representation takes the place of the former.
    func change(tag: String) {
        state.withLock { state in
            state.tag = tag
            state.body = state.body.map { ~$0 }
        }
    }

    func serve(_ connection: OriginConnection) {
        while let request = try? connection.nextRequest() {
            let deed = state.withLock { state in
                state.requests.append(request)
                return state.deeds.isEmpty ? Deed.normal : state.deeds.removeFirst()
            }
            guard let isGoingOn = try? answer(request, deed, on: connection), isGoingOn else {
                return connection.close()
            }
        }
    }

    /// False where the connection ends behind it.
    private func answer(
        _ request: ScriptedMessage,
        _ deed: Deed,
        on connection: OriginConnection
    ) throws -> Bool {
        let (body, tag) = state.withLock { ($0.body, $0.tag) }
        if case .say(let text, let range) = deed {
            try connection.send(text)
            try connection.send(Array(body[range]))
            return true
        }
        var part = 0..<body.count
        var lines = ["HTTP/1.1 200 OK"]
        if request["If-None-Match"]?.contains(tag) == true {
            try connection.send(head("HTTP/1.1 304 X", "ETag: \(tag)", fields[0]))
            return true
        }
        let isOpen = request["If-Range"].map { $0 == tag } ?? true
        if case .whole = deed {
        } else if isOpen, let text = request["Range"] {
            guard let range = Self.range(text, body.count) else {
                let place = "Content-Range: bytes */\(body.count)"
                try connection.send(head("HTTP/1.1 416 X", place, "Content-Length: 0"))
                return true
            }
            part = range
            let place = "\(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
            lines = ["HTTP/1.1 206 Part", "Content-Range: bytes \(place)"]
        }
        lines += fields + ["Content-Length: \(part.count)"]
        if !tag.isEmpty { lines.append("ETag: \(tag)") }
        try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        guard case .breakOff(let count) = deed else {
            try connection.send(Array(body[part]))
            return true
        }
        try connection.send(Array(body[part].prefix(count)))
        return false
    }

    private static func range(_ value: String, _ length: Int) -> Range<Int>? {
        let ends = value.dropFirst("bytes=".count).split(
            separator: "-",
            omittingEmptySubsequences: false
        ).map { Int($0) }
        guard ends.count == 2 else { return nil }
        guard let first = ends[0] else { return max(0, length - (ends[1] ?? 0))..<length }
        guard first < length else { return nil }
        return first..<min((ends[1] ?? length) + 1, length)
    }
}

extension ProxyFixture {
    /// An origin with parts to be had, under its URL.
    func parts(_ parts: PartsOrigin) throws -> String {
        try origin { parts.serve($0) }.url()
    }
}

extension ScriptedClient {
    /// Asks for a range and has it read: what is kept of it is kept then.
    @discardableResult
    func range(_ range: String, of url: String, _ fields: String...) throws -> ScriptedMessage {
        try send("GET", url, ["Range: bytes=\(range)"] + fields)
        return try response()
    }
}
