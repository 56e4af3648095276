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
    package internal(set) var body: [UInt8]
    var closes = false
    /// Whether a rule's `respond` says it, so that `response:` and `throttle` act on it.
    var isByRule = false

    init(status: UInt16, contentType: String? = nil, body: String = "") {
        head = ResponseHead(status: status)
        self.body = Array(body.utf8)
        if let contentType { head.fields.add(name: "Content-Type", value: contentType) }
    }

    /// An error: its status, `Proxy-Status` for programs and a body for people.
    init(_ error: LupinError, to request: RequestHead, id: ExchangeID, _ redactor: Redactor) {
        let form = ErrorBody.Form(acceptedBy: request.fields)
        self.init(
            status: error.status,
            contentType: form.contentType,
            body: ErrorBody.text(for: error, as: form, id: id, redactor: redactor)
        )
        head.fields.add(
            name: FieldName.proxyStatus.spelling,
            value: ProxyStatus.value(for: error, redactor: redactor)
        )
        if request.method != .connect {
            head.fields.add(name: "Content-Security-Policy", value: HTMLPage.policy)
        }
    }

    /// Adds the ID by which the user can look up more about it.
    ///
    /// Many clients show only the reason phrase of a response to CONNECT.
    mutating func name(_ id: ExchangeID, answering method: Method) {
        head.fields.add(name: "Lupin-Id", value: id.short)
        guard method == .connect, head.status >= 300 else { return }
        let phrase = StatusPhrases.phrase(head.status)
        head.reason = head.fields.store("\(phrase) (lupin explain \(id.short))")
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

    /// Sends an error.
    func answer(_ error: LupinError) async throws(LupinError) {
        var response = GeneratedResponse(error, to: request, id: record.id, resources.redactor)
        if let (name, value) = refusalField { response.head.fields.add(name: name, value: value) }
        response.name(record.id, answering: request.method)
        // After a malformed request the position of the next one is unknown.
        // A login to a connection is over with the connection that failed.
        response.closes = !hasRequest || interceptedTunnel?.parentTunnel?.isByLogin == true
        try await send(response)
    }

    /// Sends what a rule's `respond` says.
    func send(_ canned: CannedResponse) async throws(LupinError) {
        if canned.isSentFromFile(answering: request.method) {
            try await sendFile(canned)
        } else {
            try await send(response(canned))
        }
    }

    /// The response of a rule's `respond` that reads no file; `isRefusal` if a failure is the
    /// rule's word.
    func response(_ canned: CannedResponse, isRefusal: Bool = true) -> GeneratedResponse {
        note(canned, isRefusal: isRefusal)
        return cannedAnswer.response(canned, to: request)
    }

    /// The words of the rule that answers.
    var cannedAnswer: CannedAnswer {
        CannedAnswer(of: plan?.respondingRule ?? "rule", id: record.id, resources.redactor)
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

    /// Answers a request that is for lupin itself, or that ends here.
    func answerItself(_ own: OwnAnswer) async throws(LupinError) {
        switch own {
        case .page(let path):
            // A probe for a running lupin is not logged.
            if request.fields.value(of: OwnPages.probe) != nil { record.isLogOff = true }
            let asHTML = ErrorBody.Form(acceptedBy: request.fields) == .html
            let facts = OwnPages.Facts(snapshot, reachedAt: downstream.localAddress)
            let page = facts.flatMap { facts in
                OwnPages.page(path, request.method, facts, asHTML: asHTML)
            }
            guard let page else {
                throw .request(status: 404, detail: OwnPages.help)
            }
            try await send(page)
        case .lastHop where request.method == .trace:
            try await send(OwnPages.trace(of: request))
        case .lastHop:
            try await send(OwnPages.methods)
        }
    }
}
