// Shows what a plan does to a request, without any credential: placeholders replace secrets, and
// nothing is fetched or run.

package import LupinCore

/// A request before and after the steps of its rules, for users.
package struct RequestPreview: Sendable {
    /// A line of the comparison.
    package enum Line: Sendable, Equatable {
        case same(String)
        case removed(String)
        case added(String)
    }

    /// The request line, followed by the fields in order.
    package private(set) var lines: [Line] = []
    /// The final origin of the request.
    package private(set) var origin: Origin
    /// The request after the steps, as the cache is asked; `auth` attaches its tokens later.
    ///
    /// Lines that are not forwarded are marked hop-by-hop. Secrets of the file are placeholders.
    package private(set) var adapted: RequestHead
    /// The steps as the record will contain them.
    package private(set) var steps = AppliedSteps()
    /// The reason for which nothing would be sent; nil when the request is sent.
    package private(set) var problem: String?
    /// Further effects, such as a wait, in sentences without a full stop.
    package private(set) var notes: [String] = []

    private let standIns: [String]
    private let labels: [String]
    private let redactor: Redactor

    /// Applies the plan to `request`, which the client sent for `origin`.
    ///
    /// Lines of it that are not forwarded are marked hop-by-hop. `plan` is one of `rules`, which
    /// have `labels` in place of secrets (see `Rule.labellingSecrets`). `upstream` has the ways to
    /// origins. `standIns` are the tokens that `exec.env` names.
    package init(
        of request: RequestHead,
        at origin: Origin,
        plan: Plan,
        rules: RuleSet,
        tokens: [TokenDefinition],
        labels: [String],
        upstream: UpstreamSettings,
        redactor: Redactor,
        standIns: [String] = []
    ) {
        self.standIns = standIns
        self.origin = origin
        self.redactor = redactor
        self.labels = labels + tokens.map { Self.label($0.name) } + [Self.idLabel]
        var head = request
        adapted = request
        do throws(StepProblem) {
            steps = try RequestSteps.apply(
                plan.steps,
                to: &head,
                original: request,
                id: Self.id,
                tokens: Dictionary(
                    tokens.map { ($0.name, Self.label($0.name)) },
                    uniquingKeysWith: { first, _ in first }
                ),
                origin: &self.origin
            )
        } catch {
            problem = error.sentence
        }
        adapted = head
        attach(plan, from: tokens, to: &head, rules, upstream)
        note(plan, request)
        let via = upstream.via ? "1.1 lupin-<run>" : nil
        lines = compared(
            texts(of: request, at: origin, isOriginal: true, via: nil),
            texts(of: head, at: self.origin, isOriginal: false, via: via)
        )
    }

    /// Stands for the ids of real exchanges, and is shown as a label.
    private static let id = ExchangeID(high: 0xE1D0_57A9_D51F_02E1, low: 0xE1D0_57A9_D51F_02E2)
    private static let idLabel = "<id>"

    private static func label(_ token: String) -> String { "<token \(token)>" }

    // MARK: Credentials

    /// Attaches the tokens as the proxy does; each is only sent to its own hosts.
    private mutating func attach(
        _ plan: Plan,
        from tokens: [TokenDefinition],
        to head: inout RequestHead,
        _ rules: RuleSet,
        _ upstream: UpstreamSettings
    ) {
        let known = Dictionary(
            tokens.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let planned = PlannedTokens(of: plan, from: known)
        let sent = planned.attached + planned.named
        for token in tokens where sent.contains(token) {
            let refusal = rules.refusal(
                of: token,
                at: origin,
                isProtected: upstream.protects(origin, override: plan.proxy)
            )
            problem = problem ?? refusal
        }
        for token in planned.attached {
            switch token.source {
            case .digest, .basic(_, _, preemptive: false):
                notes.append(
                    "\(token.field.name) of token \(token.name) is sent once the server asks"
                )
            case .bearer, .basic, .command, .oauth2:
                guard let value = try? token.field.value(credential: Self.label(token.name)) else {
                    continue
                }
                head.fields.set(name: token.field.name, value: value)
                steps.note(applied: "auth \(token.name)")
            }
        }
    }

    // MARK: Further effects

    private mutating func note(_ plan: Plan, _ request: RequestHead) {
        if let jar = plan.cookieJar { notes.append("Cookie has the matching cookies of \(jar)") }
        let length = request.fields.value(of: .contentLength).flatMap {
            NumberReader.unsigned($0)
        }
        let problem = request.fields.reasonNotToEdit(length: length)
        for edit in plan.bodyEdits {
            if let problem {
                steps.note(dropped: edit.summary, because: problem.reason)
                continue
            }
            notes.append("a body is edited (\(edit.summary)) where it is no longer than 1 MiB")
        }
        for name in plan.standIns where standIns.contains(name) {
            let locations = plan.standInLocations[name] ?? []
            let words = StandInLocations.words.filter { locations.contains($0.location) }.map(
                \.word
            )
            notes.append(
                "the stand-in of lupin exec for token \(name) becomes the credential, in: "
                    + words.joined(separator: ", ")
            )
        }
        if plan.scrubs {
            let when = plan.scrubsForStandIns ? ", where lupin exec runs the command" : ""
            notes.append("credentials are masked in responses\(when)")
        }
        if plan.readsResponses {
            notes.append("Accept-Encoding has only codings that lupin can undo")
        }
        if let step = plan.compress {
            let coding = step.coding.token
            notes.append("a body is compressed (\(coding)) where its size and coding allow")
        }
        for key in RuleKey.allCases {
            guard let isOn = plan.flags[key], let flag = key.flag else { continue }
            if let note = isOn ? flag.notes.on : flag.notes.off { notes.append(note) }
        }
        if let delay = plan.delay {
            notes.append(
                "every attempt waits \(UnitText.duration(delay.milliseconds)) before it is sent"
            )
        }
    }

    // MARK: Lines

    /// A line with its printable form.
    private struct Text {
        var whole: String
        var shown: String
    }

    private func texts(
        of head: RequestHead,
        at origin: Origin,
        isOriginal: Bool,
        via: String?
    ) -> [Text] {
        let method = head.method.token
        let url = "\(origin.scheme.name)://\(origin.authority)\(head.pathText)"
        var texts = [target("\(method) \(url)")]
        let host = "Host: \(origin.authority)"
        if !isOriginal { texts.append(text(host)) }
        for line in head.fields.lines {
            if !isOriginal, line.isHopByHop || line.known == .host { continue }
            let name = head.fields.text(line.name)
            let value = head.fields.text(line.value).replacing(Self.id.text, with: Self.idLabel)
            guard redactor.hides(field: name.utf8Span.span, value.utf8Span.span, known: line.known)
            else {
                texts.append(text("\(name): \(value)"))
                continue
            }
            let shown = isPlaceholder(value) ? value : "REDACTED"
            texts.append(Text(whole: "\(name): \(value)", shown: "\(name): \(shown)"))
        }
        if let via { texts.append(text("Via: \(via)")) }
        return texts
    }

    private func text(_ whole: String) -> Text { Text(whole: whole, shown: cleaned(whole)) }

    private func cleaned(_ text: String) -> String {
        redactor.cleaned(text).replacing("REDACTED.0000", with: "REDACTED")
    }

    /// Formats a request line; placeholders in its URL are not redacted.
    private func target(_ whole: String) -> Text {
        var text = whole.replacing(Self.id.text, with: Self.idLabel)
        for label in labels {
            var (component, path): ([UInt8], [UInt8]) = ([], [])
            PercentEncoding.appendComponent(label.utf8.span, to: &component)
            PercentEncoding.appendPath(label.utf8.span, to: &path)
            for encoded in [component, path] {
                text = text.replacing(String(decoding: encoded, as: UTF8.self), with: label)
            }
        }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return Text(whole: whole, shown: cleaned(text)) }
        let parameters = parts[1].split(separator: "&", omittingEmptySubsequences: false).map {
            let value = $0.drop { $0 != "=" }.dropFirst()
            return isPlaceholder(String(value)) ? $0 : cleaned("?\($0)").dropFirst()
        }
        let query = parameters.joined(separator: "&")
        return Text(whole: whole, shown: "\(cleaned(String(parts[0])))?\(query)")
    }

    /// Whether a value consists of labels only, optionally after the name of a scheme.
    private func isPlaceholder(_ value: String) -> Bool {
        var rest = value
        for label in labels { rest = rest.replacing(label, with: "") }
        guard rest != value else { return false }
        let words = rest.split(separator: " ")
        let schemes = ["basic", "bearer", "digest", "token"]
        return words.isEmpty || (words.count == 1 && schemes.contains(words[0].lowercased()))
    }

    private func compared(_ old: [Text], _ new: [Text]) -> [Line] {
        let difference = new.map(\.whole).difference(from: old.map(\.whole))
        var (removed, added): (Set<Int>, Set<Int>) = ([], [])
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var lines: [Line] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, removed.contains(i) {
                lines.append(.removed(old[i].shown))
                i += 1
            } else if j < new.count, added.contains(j) {
                lines.append(.added(new[j].shown))
                j += 1
            } else if i < old.count {
                lines.append(.same(old[i].shown))
                i += 1
                j += 1
            } else {
                break
            }
        }
        return lines
    }
}

// MARK: Labels

extension Rule {
    /// Replaces the secrets of the rule's `request:` steps by `labels`, in order.
    package func labellingSecrets(_ labels: [String]) -> Rule {
        var rule = self
        var rest = labels[...]
        rule.steps = steps.map { $0.labellingSecrets(&rest) }
        return rule
    }
}

extension RequestStep {
    fileprivate func labellingSecrets(_ labels: inout ArraySlice<String>) -> RequestStep {
        switch self {
        case .set(let name, let value): .set(name: name, value: value.labelled(&labels))
        case .add(let name, let value): .add(name: name, value: value.labelled(&labels))
        case .default(let name, let value): .default(name: name, value: value.labelled(&labels))
        case .query(let set, let remove):
            .query(
                set: set.map { (name: $0.name, value: $0.value.labelled(&labels)) },
                remove: remove
            )
        case .url(let step): .url(step.labelled(&labels))
        case .remove, .rewrite, .compress, .auth, .delay, .edit: self
        }
    }
}

extension URLStep {
    fileprivate func labelled(_ labels: inout ArraySlice<String>) -> URLStep {
        var step = self
        if case .literal(let path)? = step.path { step.path = .literal(path.labelled(&labels)) }
        return step
    }
}

extension Template {
    fileprivate func labelled(_ labels: inout ArraySlice<String>) -> Template {
        Template(
            parts.map { part in
                guard case .secret = part else { return part }
                return .secret(labels.popFirst() ?? "<secret>")
            }
        )
    }
}
