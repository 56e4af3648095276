// What the rules file says to a request where a rule answers it.
import LupinCaching
package import LupinCore
package import LupinPolicy
import LupinWire

/// The words of a rule's `respond`, by values alone.
package struct CannedAnswer {
    /// The rule as users know it.
    let rule: String
    let id: ExchangeID
    let redactor: Redactor

    package init(of rule: String, id: ExchangeID, _ redactor: Redactor) {
        self.rule = rule
        self.id = id
        self.redactor = redactor
    }

    /// Whose words they are.
    private var author: String { "answered by the \(rule) of lupin's rules file" }

    /// Proxy-Status (RFC 9209) of what the rule answers.
    private var status: String {
        ProxyStatus.value(
            for: LupinError(.proxyInternalResponse, detail: author),
            redactor: redactor
        )
    }

    /// The response that reads no file.
    package func response(
        _ canned: CannedResponse,
        to request: RequestHead
    ) -> GeneratedResponse {
        var response = GeneratedResponse(status: canned.status(answering: request.method))
        response.isByRule = true
        switch canned.content {
        case .text(let template):
            response.body = BodyTemplate.expand(
                template,
                contentType: canned.contentType,
                request: request,
                id: id
            )
        case .none, .file, .folder:
            if response.head.status >= 400 { response.body = Array("\(author)\n".utf8) }
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
        response.head.fields.add(name: FieldName.proxyStatus.spelling, value: status)
        response.name(id, answering: request.method)
        return response
    }

    // MARK: Files and folders

    /// What is said where a folder can't serve the method; nil where it can.
    package func refusal(ofMethod method: Method) -> CannedResponse? {
        if method == .get || method == .head { return nil }
        return saying(405, "the rule's folder is only read", ("Allow", "GET, HEAD"))
    }

    /// What is said where a folder has no such file.
    package var absence: CannedResponse { saying(404, "the rule's folder has no such file") }

    /// To the same path with a slash behind it.
    package func ahead(of request: RequestHead) -> CannedResponse {
        let target = request.pathText
        let path = target.prefix { $0 != "?" }
        return saying(
            301,
            "a folder's path ends with a slash",
            ("Location", "\(path)/\(target.dropFirst(path.count))")
        )
    }

    /// What is said where a precondition of the request does not hold.
    package var change: CannedResponse { saying(412, "the file is another one by now") }

    /// A short answer of the rule's that is no file.
    private func saying(
        _ status: UInt16,
        _ sentence: String,
        _ field: (name: String, value: String)? = nil
    ) -> CannedResponse {
        var canned = CannedResponse(status: status)
        canned.content = .text(Template("\(author): \(sentence)\n"))
        if let field { canned.fields = [field] }
        return canned
    }

    /// A file, as conditions and ranges of the request want it; nil where a precondition fails.
    func served(
        _ file: MappedFile.Facts,
        by canned: CannedResponse,
        to request: RequestHead,
        nowUs: Int64
    ) -> CachedAnswer? {
        var head = ResponseHead(status: canned.status)
        for field in canned.fields { head.fields.add(name: field.name, value: field.value) }
        func add(_ name: String, _ value: String) {
            guard !head.fields.lines.contains(where: { head.fields.nameEquals($0, name.utf8.span) })
            else { return }
            head.fields.add(name: name, value: value)
        }
        add("Content-Type", MediaTypes.type(ofFile: file.name))
        if canned.status == 200 {
            add("ETag", file.tag)
            add("Last-Modified", HTTPDate.text(file.modified))
            add("Accept-Ranges", "bytes")
        }
        head.fields.add(name: FieldName.proxyStatus.spelling, value: status)
        head.fields.add(name: "Lupin-Id", value: id.short)
        let facts = StoredResponse(
            head,
            vary: .empty,
            content: HeldContent(complete: file.length),
            policy: .standard,
            requestTimeUs: nowUs,
            responseTimeUs: nowUs
        )
        let isReading = request.method == .get || request.method == .head
        if canned.status == 200, isReading, facts.failsPrecondition(of: request.fields) {
            return nil
        }
        let asked = CacheRequest(request, hasContent: false)
        var served = facts.served(
            isReading ? facts.answer(to: request, asked) : .full,
            nowUs: nowUs,
            boundary: id.text
        )
        served.head.fields.remove(name: "Age")
        served.head.fields.remove(name: "Content-Length")
        return served
    }
}

extension CannedResponse {
    /// Whether the content is read from a file; to a CONNECT no content is said.
    func isSentFromFile(answering method: Method) -> Bool { readsFile && method != .connect }
}
