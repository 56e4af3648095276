// An origin that serves ranges of one body, and breaks off where a test says.
import LupinTestKit
import Synchronization

/// Answers every GET with its body, or the range of it that is asked for.
final class RangeOrigin: Sendable {
    private struct State {
        var breaks: [Int?]
        var requests: [ScriptedMessage] = []
    }

    let body: [UInt8]
    private let fields: [String]
    private let isReset: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - count: The length of the body.
    ///   - breaks: After how many bytes of its body each response breaks off; nil, and all behind
    ///     the last, are whole.
    ///   - isReset: Whether by RST instead of FIN.
    ///   - fields: What every response has besides its lengths.
    init(
        _ count: Int,
        breaks: [Int?],
        isReset: Bool = false,
        fields: [String] = ["ETag: \"v1\"", "Accept-Ranges: bytes"]
    ) {
        body = LongBody.bytes(count)
        self.isReset = isReset
        self.fields = fields
        state = Mutex(State(breaks: breaks))
    }

    var requests: [ScriptedMessage] { state.withLock { $0.requests } }
    var ranges: [String] { requests.map { $0["Range"] ?? "" } }

    func serve(_ connection: OriginConnection) {
        while let request = try? connection.nextRequest() {
            let stop: Int? = state.withLock { state in
                state.requests.append(request)
                return state.breaks.isEmpty ? nil : state.breaks.removeFirst()
            }
            guard (try? answer(request, on: connection, stop)) != nil, stop == nil else {
                return isReset ? connection.reset() : connection.close()
            }
        }
    }

    private func answer(
        _ request: ScriptedMessage,
        on connection: OriginConnection,
        _ stop: Int?
    ) throws {
        var part = body[...]
        var lines = ["HTTP/1.1 200 OK"]
        if let range = request["Range"].flatMap(range) {
            part = body[range]
            let last = range.upperBound - 1
            lines = [
                "HTTP/1.1 206 Part",
                "Content-Range: bytes \(range.lowerBound)-\(last)/\(body.count)",
            ]
        }
        lines += fields + ["Content-Length: \(part.count)"]
        try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        try connection.send(Array(part.prefix(stop ?? .max)))
    }

    private func range(_ value: String) -> Range<Int>? {
        let ends = value.dropFirst("bytes=".count).split(
            separator: "-",
            omittingEmptySubsequences: false
        )
        guard let first = ends.first.flatMap({ Int($0) }), first < body.count else { return nil }
        let last = ends.count > 1 ? Int(ends[1]) ?? body.count - 1 : body.count - 1
        return first..<min(last + 1, body.count)
    }
}
