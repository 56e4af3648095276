// Responses that lupin generates: errors, rules' responses, and its own pages.
package import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

/// A response with its whole body in memory.
package struct GeneratedResponse {
    package var head: ResponseHead
    var body: [UInt8]
    var closes = false
    /// Whether a rule's `respond` says it, so that `response:` and `throttle` act on it.
    var isByRule = false

    init(status: UInt16, contentType: String? = nil, body: String = "") {
        head = ResponseHead(status: status)
        self.body = Array(body.utf8)
        if let contentType { head.fields.add(name: "Content-Type", value: contentType) }
    }
}

extension Exchange {
    /// Sends a generated response.
    func send(_ response: GeneratedResponse) async throws(LupinError) {
        let (source, sink) = try present(response)
        try await relay(from: source, to: sink)
    }

    /// Stages the head of a generated response; its body follows.
    func present(
        _ response: GeneratedResponse
    ) throws(LupinError) -> (source: any BodySource, sink: any BodySink) {
        let length = UInt64(response.body.count)
        let sink = try begin(
            response.head,
            length: length,
            closes: response.closes,
            isByRule: response.isByRule
        )
        let isBodiless = ResponseParser.hasNoBody(
            status: response.head.status,
            method: request.method
        )
        return (BytesBody(isBodiless ? [] : response.body), sink)
    }

    /// Stages a head of our own, behind which `length` bytes follow.
    func begin(
        _ head: ResponseHead,
        length: UInt64,
        closes: Bool = false,
        isByRule: Bool
    ) throws(LupinError) -> any BodySink {
        try refuseFalseOpening(head.status)
        var body = ResponseBody(framing: .length(length))
        // A 304 has no length of its own.
        body.contentLength = head.status == 304 ? nil : length
        body.date = resources.dateText
        body.closes = closes || resources.isDraining || !downstream.isRequestComplete
        if isByRule { return try stageChanged(head, body) }
        record.response = head
        return captured(downstream.begin(head, body), .response, head.fields)
    }

    /// Sends an error: its status, `Proxy-Status` for programs and a body for people.
    func answer(_ error: LupinError) async throws(LupinError) {
        let redactor = resources.redactor
        let form = ErrorBody.Form(acceptedBy: request.fields)
        var response = GeneratedResponse(
            status: error.status,
            contentType: form.contentType,
            body: ErrorBody.text(for: error, as: form, id: record.id, redactor: redactor)
        )
        response.head.fields.add(
            name: FieldName.proxyStatus.spelling,
            value: ProxyStatus.value(for: error, redactor: redactor)
        )
        if request.method != .connect {
            response.head.fields.add(name: "Content-Security-Policy", value: HTMLPage.policy)
        }
        if let (name, value) = refusalField { response.head.fields.add(name: name, value: value) }
        name(&response)
        // After a malformed request the position of the next one is unknown.
        // A login to a connection is over with the connection that failed.
        response.closes = !hasRequest || interceptedTunnel?.parentTunnel?.isByLogin == true
        try await send(response)
    }

    /// Adds the ID by which the user can look up more about a generated response.
    ///
    /// Many clients show only the reason phrase of a response to CONNECT.
    func name(_ response: inout GeneratedResponse) {
        response.head.fields.add(name: "Lupin-Id", value: record.id.short)
        guard request.method == .connect, response.head.status >= 300 else { return }
        let phrase = StatusPhrases.phrase(response.head.status)
        response.head.reason = response.head.fields.store(
            "\(phrase) (lupin explain \(record.id.short))"
        )
    }

    /// Sends what a rule's `respond` says.
    func send(_ canned: CannedResponse) async throws(LupinError) {
        if canned.isSentFromFile(answering: request.method) {
            try await sendFile(canned)
        } else {
            try await send(response(canned))
        }
    }

    /// The response of a rule's `respond` that reads no file; `isRefusal` if a failure is the rule's
    /// word.
    func response(_ canned: CannedResponse, isRefusal: Bool = true) -> GeneratedResponse {
        note(canned, isRefusal: isRefusal)
        var response = GeneratedResponse(status: canned.status(answering: request.method))
        response.isByRule = true
        switch canned.content {
        case .text(let template):
            response.body = BodyTemplate.expand(
                template,
                contentType: canned.contentType,
                request: request,
                id: record.id
            )
        case .none, .file, .folder:
            if response.head.status >= 400 { response.body = Array("\(cannedAuthor)\n".utf8) }
        }
        for field in canned.fields {
            response.head.fields.add(name: field.name, value: field.value)
        }
        if !response.body.isEmpty, response.head.fields.first(.contentType) == nil {
            response.head.fields.add(
                name: FieldName.contentType.spelling,
                value: "text/plain; charset=utf-8"
            )
        }
        response.head.fields.add(name: FieldName.proxyStatus.spelling, value: cannedStatus)
        name(&response)
        return response
    }

    /// Notes in the record which rule answers, and by what; where that is a failure, for a confined
    /// command, too.
    func note(_ canned: CannedResponse, isRefusal: Bool = true) {
        let rule = plan?.respondingRule ?? "rule"
        record.rules.note([canned.step(of: rule, answering: request.method)])
        guard isRefusal, canned.status(answering: request.method) >= 400,
            let origin = redirectedTo ?? record.origin
        else { return }
        resources.noteRefusal(
            of: resources.asked(request, isRedirected: client.isRedirected),
            to: origin,
            of: client.program,
            rule: respondingReason
        )
    }

    /// The rule that answers, as the end of a confined command tells it.
    private var respondingReason: String {
        guard let index = plan?.respondingIndex else { return "" }
        return " (rule \"\(snapshot.rules.rules[index].name)\")"
    }

    /// Whose words a rule's `respond` are.
    var cannedAuthor: String {
        "answered by the \(plan?.respondingRule ?? "rule") of lupin's rules file"
    }

    /// Proxy-Status (RFC 9209) of what a rule answers.
    var cannedStatus: String {
        ProxyStatus.value(
            for: LupinError(.proxyInternalResponse, detail: cannedAuthor),
            redactor: resources.redactor
        )
    }

    /// The facts on lupin's pages for this client.
    private var ownFacts: OwnPages.Facts? {
        let local = downstream.localAddress
        let listeners = snapshot.openListeners
        let reached = listeners.first { listener in
            listener.address.isUnspecified || listener.address == local
        }
        guard var listener = reached ?? listeners.first else { return nil }
        if listener.address.isUnspecified, let local { listener.address = local }
        return OwnPages.Facts(
            url: listener.proxyURL,
            rulesVersion: snapshot.version,
            rules: snapshot.rules.rules.count,
            authority: snapshot.issuer.authority
        )
    }

    /// Answers a request that is for lupin itself, or that ends here.
    func answerItself(_ own: OwnAnswer) async throws(LupinError) {
        switch own {
        case .page(let path):
            // A probe for a running lupin is not logged.
            if request.fields.value(of: OwnPages.probe) != nil { record.isLogOff = true }
            let asHTML = ErrorBody.Form(acceptedBy: request.fields) == .html
            let page = ownFacts.flatMap { facts in
                OwnPages.page(path, request.method, facts, asHTML: asHTML)
            }
            guard let page else {
                throw .request(status: 404, detail: OwnPages.help)
            }
            try await send(page)
        case .lastHop where request.method == .trace:
            try await send(OwnPages.trace(of: request))
        case .lastHop:
            var response = GeneratedResponse(status: 204)
            response.head.fields.add(
                name: "Allow",
                value: Method.defined.map(\.token).joined(separator: ", ")
            )
            try await send(response)
        }
    }
}

extension CannedResponse {
    /// Whether the content is read from a file; to a CONNECT no content is said.
    func isSentFromFile(answering method: Method) -> Bool { readsFile && method != .connect }
}
