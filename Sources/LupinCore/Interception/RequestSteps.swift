// What the `request:` steps of a plan do to a request before it is sent.

/// A request that cannot be sent as its rules say: NUL, CR or LF came in by interpolation.
///
/// The answer is 502, and nothing goes upstream.
package struct StepProblem: Error, Equatable, Sendable {
    /// The step, as the record names it.
    package var step: String

    package init(step: String) { self.step = step }

    /// A sentence for people; it holds no value.
    package var sentence: String {
        "The step `\(step)` would put a line end or NUL into the request."
    }
}

/// What became of the steps of one plan.
package struct AppliedSteps: Sendable {
    /// Summaries of the steps that changed the request, in order.
    package internal(set) var applied: [String] = []
    /// Steps that could not be applied, and why.
    package internal(set) var dropped: [(step: String, reason: String)] = []
    /// Whether the host is one that the file names: such a host is exempt from the deny list's
    /// `loopback` and `private`, since whoever writes the rules may go there.
    package internal(set) var isHostFromFile = false

    init() {}
}

/// The steps of a plan.
package enum RequestSteps {
    /// Applies `steps` to `head`, a copy of the client's `original` without hop-by-hop fields.
    ///
    /// `origin` follows the `url:` steps; the Host field does not, since it is written anew from
    /// the origin when the request is sent. If a step changed the URL, or the path has dot
    /// segments, the path is sent in its normal form (RFC 3986 §6.2.2), so this is to be called
    /// even if there are no steps.
    /// - Throws: The step that would put NUL, CR or LF into the request. Nothing may be sent then.
    package static func apply(
        _ steps: [(rule: Int, step: RequestStep)],
        to head: inout RequestHead,
        original: RequestHead,
        id: String,
        origin: inout Origin
    ) throws(StepProblem) -> AppliedSteps {
        var result = AppliedSteps()
        var isURLChanged = false
        let values = TemplateValues(original: original, id: id)
        for (_, step) in steps {
            let before = origin
            do throws(StepInterruption) {
                let isChanged = try head.apply(step, values, &origin)
                if case .url(let url) = step, url.host != nil { result.isHostFromFile = true }
                guard isChanged else { continue }
            } catch {
                guard case .missingField(let name) = error else {
                    throw StepProblem(step: step.summary)
                }
                let reason = "the request has no field \(name)"
                result.dropped.append((step: step.summary, reason: reason))
                continue
            }
            switch step {
            case .url, .query: isURLChanged = true
            case .set, .add, .default, .remove, .rewrite: break
            }
            if origin != before { head.follow(origin) }
            result.applied.append(step.summary)
        }
        head.normalizePath(isURLChanged: isURLChanged)
        return result
    }
}

extension RequestHead {
    /// Applies one step; false if it had nothing to do.
    fileprivate mutating func apply(
        _ step: RequestStep,
        _ values: TemplateValues,
        _ origin: inout Origin
    ) throws(StepInterruption) -> Bool {
        switch step {
        case .set(let name, let value):
            fields.replace(name, by: try values.expand(value, for: .field))
            return true
        case .add(let name, let value):
            fields.append(name, try values.expand(value, for: .field))
            return true
        case .default(let name, let value):
            guard !fields.hasLine(name) else { return false }
            fields.append(name, try values.expand(value, for: .field))
            return true
        case .remove(let pattern): return fields.removeLines(ValueGlob(pattern))
        case .rewrite(let name, let pattern, let replacement):
            return try fields.rewrite(name, pattern, replacement)
        case .query(let set, let remove): return try changeQuery(set: set, remove: remove, values)
        case .url(let step): return try changeURL(step, values, &origin)
        }
    }
}

extension FieldSection {
    fileprivate func hasLine(_ name: String) -> Bool {
        lines.contains { $0.isForSteps && nameEquals($0, name.utf8.span) }
    }

    /// Adds a line behind all others.
    fileprivate mutating func append(_ name: String, _ value: [UInt8]) {
        lines.append(makeLine(Array(name.utf8), value))
    }

    /// Puts one line in the place of the first called `name` and removes the others.
    fileprivate mutating func replace(_ name: String, by value: [UInt8]) {
        let line = makeLine(Array(name.utf8), value)
        var kept: [Line] = []
        kept.reserveCapacity(lines.count + 1)
        var isPlaced = false
        for old in lines {
            if !old.isForSteps || !nameEquals(old, name.utf8.span) {
                kept.append(old)
            } else if !isPlaced {
                kept.append(line)
                isPlaced = true
            }
        }
        if !isPlaced { kept.append(line) }
        lines = kept
    }

    fileprivate mutating func removeLines(_ glob: ValueGlob) -> Bool {
        let kept = lines.filter { line in
            !line.isForSteps
                || !glob.matches(storage.span.extracting(line.name.range), ignoringCase: true)
        }
        let isChanged = kept.count < lines.count
        if isChanged { lines = kept }
        return isChanged
    }

    /// Applies a replacement to each value of the field; values that do not match stay.
    fileprivate mutating func rewrite(
        _ name: String,
        _ pattern: ValuePattern,
        _ replacement: String
    ) throws(StepInterruption) -> Bool {
        var isChanged = false
        for index in lines.indices
        where lines[index].isForSteps && nameEquals(lines[index], name.utf8.span) {
            let old = Array(storage[lines[index].value.range])
            guard let new = pattern.replacing(in: old.span, with: replacement), new != old else {
                continue
            }
            guard !new.span.hasLineEndOrNUL else { throw .forbiddenByte }
            let line = makeLine(Array(storage[lines[index].name.range]), new)
            lines[index] = line
            isChanged = true
        }
        return isChanged
    }

    /// Writes a line behind the storage; the offsets of all others stay valid.
    private mutating func makeLine(_ name: [UInt8], _ value: [UInt8]) -> Line {
        let nameRange = ByteRange(start: storage.count, count: name.count)
        storage += name
        storage.append(0x3A)
        storage.append(0x20)
        let valueRange = ByteRange(start: storage.count, count: value.count)
        storage += value
        storage.append(0x0D)
        storage.append(0x0A)
        let known = FieldName(name.span)
        names.insert(known)
        return Line(name: nameRange, value: valueRange, known: known, isContiguous: true)
    }
}
