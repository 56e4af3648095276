// How the judgement of a server's certificates stands in the record's JSON line.

extension JSONLine {
    /// Appends `"trust":{"policy":"acme","verdict":"pass","checks":[…]}`.
    mutating func add(_ trust: TrustRecord, _ redactor: Redactor) {
        openObject("trust")
        add("policy", trust.policy, redactor)
        add("verdict", literal: trust.verdict.rawValue)
        if !trust.checks.isEmpty {
            openList("checks")
            for check in trust.checks {
                openObject()
                add("is", literal: check.name)
                add("ok", check.passed)
                if let match = check.match { add("match", literal: match) }
                if !check.note.isEmpty { add("note", check.note, redactor) }
                closeObject()
            }
            closeList()
        }
        if let leaf = trust.leaf { add("leaf", literal: leaf) }
        if let notAfter = trust.notAfter {
            // Beyond year 9999, where RFC 3339 ends, nobody needs to know.
            let seconds = min(max(notAfter, 0), 253_402_300_799)
            var timestamp = TimestampText()
            add("not_after")
            bytes.append(0x22)
            timestamp.append(date: seconds * 1_000_000, to: &bytes)
            bytes.append(0x22)
        }
        closeObject()
    }
}
