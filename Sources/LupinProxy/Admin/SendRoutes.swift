// The route that sends a request from the inspector: as it was, edited, or a new one.
import LupinCore
import LupinIO
import LupinRecords
import LupinStore
import LupinWire

/// A request that the inspector sends.
struct InspectorRequest: Sendable {
    /// The head in HTTP/1.1, with its empty line.
    var head: [UInt8]
    var body: [UInt8]
}

/// The route `/v1/send`; confined to the control loop.
struct SendRoutes {
    let shared: Shared
    let workers: [Worker]
    let exchanges: ExchangeRoutes
    let loop: EventLoop

    /// A request that was recorded, with what the inspector shows of it.
    private struct Original {
        /// As it is shown: values to hide are marked.
        let shown: RecordedExchange.Head
        let shownURL: String
        /// As it was, for the same origin; nil when only the masked form is kept.
        var fields: [(name: String, value: String)]?
        var origin: Origin?
        var url: String?
        let id: String
        let bodyBytes: UInt64
    }

    /// The start of every mark that stands for a hidden value.
    private static let mark = "REDACTED."

    /// Fields that belong to the connection, or that lupin writes itself.
    private static let ownFields: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "proxy-connection",
        "keep-alive", "te", "trailer", "upgrade", "expect", "proxy-authorization",
    ]

    /// Sends the request that a body describes.
    func send(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer {
        let wish = try request.json()
        var original: Original?
        if let id = wish["of"]?.string { original = try await self.original(id) }
        let sent = try await assembled(wish, original)
        guard let worker = workers.randomElement(), let id = try await worker.send(sent) else {
            throw AdminAnswer(503, sentence: "lupin is stopping")
        }
        return AdminAnswer(202) { $0.add("id", literal: id.text) }
    }

    // MARK: The recorded request

    private func original(_ id: String) async throws(AdminAnswer) -> Original {
        guard let reference = try? ExchangeReference(path: id[...], filter: nil),
            let found = try await exchanges.find(reference)
        else { throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unknown.sentence) }
        var format = RecordFormat(redactor: shared.redactor)
        var detail = found.openDetail(&format)
        detail.closeObject()
        guard let json = JSONValue(parsing: detail.bytes.span),
            let exchange = RecordedExchange(json), let shown = exchange.original,
            shown.method != "CONNECT"
        else { throw AdminAnswer(409, sentence: "this exchange has no request to send again") }
        var original = Original(
            shown: shown,
            shownURL: exchange.url,
            id: found.id,
            bodyBytes: exchange.bodyBytes
        )
        if case .remembered(let entry) = found {
            let record = entry.record
            if let head = record.request, let origin = record.origin {
                original.origin = origin
                original.url = "\(origin.scheme.name)://\(origin.authority)\(head.pathText)"
                original.fields = head.fields.lines.map {
                    (head.fields.text($0.name), head.fields.text($0.value))
                }
            }
        }
        return original
    }

    /// The captured body of the recorded request, its content coding undone.
    private func body(of original: Original) async throws(AdminAnswer) -> [UInt8] {
        if original.bodyBytes == 0 { return [] }
        let id = original.id
        let result = await shared.captures.read(on: loop) {
            file throws(DiskProblem) -> (CapturedBody, [UInt8])? in
            guard let row = try file.exchanges(withPrefix: id, limit: 1).first,
                let body = try file.bodies(of: row.number)
                    .first(where: { $0.side == CapturedSide.request.rawValue })
            else { return nil }
            return (body, try file.content(of: row.number, side: body.side) ?? [])
        }
        guard case .success(let found) = result, let (body, content) = found else {
            throw AdminAnswer(
                409,
                sentence: "its body was not captured: capture its host, or write a body"
            )
        }
        guard body.truncated.isEmpty, body.withheld.isEmpty else {
            throw AdminAnswer(409, sentence: "its body was not captured as a whole: write a body")
        }
        guard content.firstRange(of: Array(Self.mark.utf8)) == nil else {
            throw AdminAnswer(
                409,
                sentence: "values in its body are hidden: write a body with the real ones"
            )
        }
        return content
    }

    // MARK: The new request

    private func assembled(
        _ wish: JSONValue,
        _ original: Original?
    ) async throws(AdminAnswer) -> InspectorRequest {
        let method = wish["method"]?.string ?? original?.shown.method ?? "GET"
        guard method != "CONNECT", let url = try url(wish, original) else {
            throw AdminAnswer(400, sentence: "send {\"method\": \"GET\", \"url\": \"http://…\"}")
        }
        guard let target = HTTPURL(url) else {
            throw AdminAnswer(400, sentence: "url is no http or https URL")
        }
        var fields = try fields(wish, original, for: target.origin)
        let body: [UInt8]
        if let written = try writtenBody(wish) {
            body = written
        } else if let original {
            body = try await self.body(of: original)
            // What is captured has no coding any more.
            if !body.isEmpty { fields.removeAll { $0.name.lowercased() == "content-encoding" } }
        } else {
            body = []
        }
        let hasLength = !body.isEmpty || !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
        let origin = target.origin
        fields.insert(("Host", origin.authority), at: 0)
        if hasLength { fields.append(("Content-Length", "\(body.count)")) }
        let line = "\(method) \(origin.scheme.name)://\(origin.authority)\(target.path) HTTP/1.1"
        let lines = [line] + fields.map { "\($0.name): \($0.value)" }
        guard lines.allSatisfy(\.isOneLine) else {
            throw AdminAnswer(400, sentence: "a control character stands in the request")
        }
        let head = lines.joined(separator: "\r\n") + "\r\n\r\n"
        return InspectorRequest(head: Array(head.utf8), body: body)
    }

    private func url(_ wish: JSONValue, _ original: Original?) throws(AdminAnswer) -> String? {
        guard let url = wish["url"]?.string, url != original?.shownURL else {
            guard let original else { return nil }
            if let url = original.url { return url }
            return try unmasked(original.shownURL, "the URL")
        }
        return try unmasked(url, "the URL")
    }

    private func fields(
        _ wish: JSONValue,
        _ original: Original?,
        for origin: Origin
    ) throws(AdminAnswer) -> [(name: String, value: String)] {
        let wished: [[String]]
        if let list = wish["fields"] {
            guard let pairs = list.list?.map({ $0.list?.compactMap(\.string) ?? [] }),
                pairs.allSatisfy({ $0.count == 2 })
            else { throw AdminAnswer(400, sentence: "fields is a list of [name, value]") }
            wished = pairs
        } else {
            wished = original?.shown.fields.filter { $0.count == 2 } ?? []
        }
        var fields: [(name: String, value: String)] = []
        for pair in wished where !Self.ownFields.contains(pair[0].lowercased()) {
            fields.append((pair[0], try value(pair, of: original, for: origin)))
        }
        return fields
    }

    /// The value of a field: that of the recorded request, where its mark stands for it.
    ///
    /// A hidden value goes to no other origin than before.
    private func value(
        _ pair: [String],
        of original: Original?,
        for origin: Origin
    ) throws(AdminAnswer) -> String {
        guard pair[1].contains(Self.mark) else { return pair[1] }
        if let original, let fields = original.fields, original.origin == origin,
            let index = original.shown.fields.firstIndex(of: pair), index < fields.count,
            fields[index].name.lowercased() == pair[0].lowercased()
        {
            return fields[index].value
        }
        return try unmasked(pair[1], "the value of \(shared.redactor.cleaned(pair[0]))")
    }

    private func unmasked(_ text: String, _ what: String) throws(AdminAnswer) -> String {
        guard !text.contains(Self.mark) else {
            throw AdminAnswer(409, sentence: "\(what) is hidden: write the real one")
        }
        return text
    }

    private func writtenBody(_ wish: JSONValue) throws(AdminAnswer) -> [UInt8]? {
        if let text = wish["body"]?.string { return Array(text.utf8) }
        guard let text = wish["body_base64"]?.string else { return nil }
        guard let bytes = Base64Text.decode(Array(text.utf8)) else {
            throw AdminAnswer(400, sentence: "body_base64 is no base64")
        }
        return bytes
    }
}

extension String {
    /// Whether it has no control character, which could end the line that it is put in.
    fileprivate var isOneLine: Bool {
        utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}

extension Worker {
    /// Sends a request of the inspector through the rules, like any other.
    /// - Returns: The ID of its exchange; nil when lupin is stopping.
    /// - Throws: The refusal of what is no valid request.
    func send(_ request: InspectorRequest) throws(AdminAnswer) -> ExchangeID? {
        guard let resources = ownResources else { return nil }
        let snapshot = resources.snapshot
        let parser = RequestParser(limits: HTTP1Limits(snapshot.limits))
        do throws(MessageProblem) {
            _ = try parser.feed(request.head.span)
        } catch {
            throw AdminAnswer(400, sentence: error.sentence)
        }
        guard parser.isComplete else {
            throw AdminAnswer(400, sentence: "the request's head is not complete")
        }
        let slot = ParkingSlot(on: resources.loop)
        let exchange = Exchange(
            parser.take(),
            from: .inspector,
            InspectorClient(body: request.body),
            slot,
            resources,
            snapshot,
            nil,
            bytesBefore: 0
        )
        exchange.enter()
        let id = exchange.record.id
        let local = LoopLocal(exchange, of: resources.loop.executor)
        resources.beginOwnWork(slot)
        Task.immediate(executorPreference: resources.loop.executor) {
            let exchange = local.value
            _ = await exchange.run()
            exchange.resources.endOwnWork(exchange.slot)
            exchange.slot.retire()
        }
        return id
    }
}
