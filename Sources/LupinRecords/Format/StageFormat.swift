// Writes a stage as a line of JSON, and reads it back for `lupin log`.

package import LupinCore

extension JSONLine {
    /// Appends the line of a stage or of a token; RecordFormat appends those of attempts.
    package mutating func append(_ stage: StageRecord, _ timestamp: inout TimestampText) {
        if stage.stage == .token {
            appendToken(stage, &timestamp)
            return
        }
        openStageLine("stage", id: stage.id, at: stage.microseconds, &timestamp)
        add("stage", literal: stage.stage.rawValue)
        if stage.attempt > 0 { add("n", UInt64(stage.attempt)) }
        if let client = stage.client { add(client) }
        if !stage.method.isEmpty {
            openObject("http")
            openObject("request")
            add("method", text: stage.method)
            closeObjects(2)
        }
        addTarget(host: stage.host, rules: stage.rules, url: stage.url, steps: stage.steps)
        if !stage.token.isEmpty {
            openObject("auth")
            add("token", text: stage.token)
            closeObject()
        }
        addUnlessEmpty("to", stage.target)
        addUnlessEmpty("peer", stage.peer)
        addUnlessEmpty("protocol", stage.httpVersion)
        if stage.isReused { add("reused", true) }
        addOutcome(of: stage)
        closeObject()
        endLine()
    }

    private mutating func add(_ client: ClientSummary) {
        openObject("client")
        add("address", text: client.address)
        add("port", UInt64(client.port))
        if let program = client.program { add("program", text: program) }
        if let user = client.user { add("user", text: user) }
        closeObject()
    }

    /// Appends the result of a stage.
    private mutating func addOutcome(of stage: StageRecord) {
        if stage.status > 0 { add("status", UInt64(stage.status)) }
        addUnlessEmpty("decision", stage.decision)
        addUnlessEmpty("reason", stage.reason)
        add("delay", milliseconds: stage.delayMicroseconds)
        if !stage.cache.isEmpty {
            openObject("cache")
            add("status", text: stage.cache)
            closeObject()
        }
        if stage.sentBytes != nil || stage.receivedBytes != nil {
            openObject("bytes")
            if let bytes = stage.sentBytes { add("up", bytes) }
            if let bytes = stage.receivedBytes { add("down", bytes) }
            closeObject()
        }
        addUnlessEmpty("outcome", stage.outcome)
        if let failure = stage.failure {
            openObject("error")
            add("type", text: failure.token)
            addUnlessEmpty("detail", failure.detail)
            add("side", text: failure.side)
            closeObject()
        }
        if let total = stage.totalMicroseconds {
            openObject("timing")
            add("total", milliseconds: total)
            closeObject()
        }
    }

    private mutating func appendToken(
        _ stage: StageRecord,
        _ timestamp: inout TimestampText
    ) {
        openStageLine("token", id: "", at: stage.microseconds, &timestamp)
        add("token", text: stage.token)
        add("action", text: stage.action)
        if let version = stage.version { add("version", version) }
        addUnlessEmpty("detail", stage.detail)
        closeObject()
        endLine()
    }

    /// Appends `{"schema":1,"ts":"…","event":"stage","id":"…"`.
    mutating func openStageLine(
        _ event: String,
        id: String,
        at microseconds: Int64,
        _ timestamp: inout TimestampText
    ) {
        openObject()
        add("schema", RecordFormat.schema)
        add("ts")
        bytes.append(0x22)
        timestamp.append(date: microseconds, to: &bytes)
        bytes.append(0x22)
        add("event", literal: event)
        if !id.isEmpty { add("id", literal: id) }
    }

    /// Appends `"url":{"domain":"…"},"rules":{"matched":[…]}`, for filters.
    mutating func addTarget(
        host: String,
        rules: [String],
        url: String = "",
        steps: [String] = []
    ) {
        if !host.isEmpty || !url.isEmpty {
            openObject("url")
            addUnlessEmpty("full", url)
            addUnlessEmpty("domain", host)
            closeObject()
        }
        guard !rules.isEmpty || !steps.isEmpty else { return }
        openObject("rules")
        add("matched", texts: rules)
        add("steps", texts: steps)
        closeObject()
    }

    private mutating func add(_ key: String, texts: [String]) {
        guard !texts.isEmpty else { return }
        openList(key)
        for text in texts { element(text.utf8Span.span) }
        closeList()
    }

    private mutating func addUnlessEmpty(_ key: String, _ text: String) {
        if !text.isEmpty { add(key, text: text) }
    }
}

extension StageRecord {
    /// Reads a line about a stage, an attempt or a token; returns nil for other lines.
    package init?(_ json: JSONValue) {
        guard let microseconds = json["ts"]?.string.flatMap(RecordSummary.microseconds(ofDate:))
        else { return nil }
        let isStage = json["event"]?.string == "stage"
        let word = json[isStage ? "stage" : "event"]?.string ?? ""
        guard let stage = Stage(rawValue: word),
            isStage != (stage == .attempt || stage == .token)
        else { return nil }
        self.init(stage)
        self.microseconds = microseconds
        id = json["id"]?.string ?? ""
        host = json["url", "domain"]?.string ?? ""
        rules = json["rules", "matched"]?.list?.compactMap(\.string) ?? []
        switch stage {
        case .attempt: json["attempt"].map { readAttempt($0) }
        case .token: readToken(json)
        default: readStage(json)
        }
    }

    private mutating func readStage(_ json: JSONValue) {
        client = json["client"].map {
            ClientSummary(
                address: $0["address"]?.string ?? "",
                port: $0["port"]?.count.flatMap { UInt16(exactly: $0) } ?? 0,
                program: $0["program"]?.string,
                user: $0["user"]?.string
            )
        }
        method = json["http", "request", "method"]?.string ?? ""
        url = json["url", "full"]?.string ?? ""
        steps = json["rules", "steps"]?.list?.compactMap(\.string) ?? []
        token = json["auth", "token"]?.string ?? ""
        target = json["to"]?.string ?? ""
        sentBytes = json["bytes", "up"]?.count
        receivedBytes = json["bytes", "down"]?.count
        cache = json["cache", "status"]?.string ?? ""
        outcome = json["outcome"]?.string ?? ""
        totalMicroseconds = json["timing", "total"]?.microseconds
        readCommon(json)
    }

    private mutating func readAttempt(_ json: JSONValue) {
        cause = json["why"]?.string ?? ""
        target = json["url"]?.string ?? ""
        readCommon(json)
    }

    /// Reads the members that stages and attempts share.
    private mutating func readCommon(_ json: JSONValue) {
        attempt = json["n"]?.count.flatMap { Int(exactly: $0) } ?? 0
        peer = json["peer"]?.string ?? ""
        httpVersion = json["protocol"]?.string ?? ""
        isReused = json["reused"]?.bool ?? false
        status = json["status"]?.count.flatMap { UInt16(exactly: $0) } ?? 0
        decision = json["decision"]?.string ?? ""
        reason = json["reason"]?.string ?? ""
        delayMicroseconds = json["delay"]?.microseconds
        failure = json["error"].map {
            FailureSummary(
                token: $0["type"]?.string ?? "",
                detail: $0["detail"]?.string ?? "",
                side: $0["side"]?.string ?? ""
            )
        }
    }

    private mutating func readToken(_ json: JSONValue) {
        token = json["token"]?.string ?? ""
        action = json["action"]?.string ?? ""
        version = json["version"]?.count
        detail = json["detail"]?.string ?? ""
    }
}
