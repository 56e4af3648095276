// Applies `url:` and `query:` steps, and changes no more bytes of the target than they require.

import LupinCore

extension RequestHead {
    /// Path and query as bytes; `/` if there is none.
    private var targetBytes: [UInt8] {
        pathAndQuery.isEmpty ? [0x2F] : Array(fields.storage[pathAndQuery.range])
    }

    /// False for `*` and for the target of a CONNECT, which have no path.
    private var hasPath: Bool { form == .origin || form == .absolute }

    private mutating func setTarget(_ bytes: [UInt8]) {
        pathAndQuery = ByteRange(start: fields.storage.count, count: bytes.count)
        fields.storage += bytes
    }

    /// Normalizes the path when a step changed the URL or when the path has dot segments.
    mutating func normalizePath(isURLChanged: Bool) {
        guard hasPath, !pathAndQuery.isEmpty else { return }
        let normal = NormalPath(fields.storage.span.extracting(pathAndQuery.range))
        guard let rewritten = normal.rewritten, isURLChanged || normal.differsInDotSegments else {
            return
        }
        setTarget(rewritten + targetBytes[normal.pathCount...])
    }

    /// Changes an absolute-form target to the new origin.
    mutating func follow(_ origin: Origin) {
        guard scheme != nil else { return }
        scheme = origin.scheme
        authority = fields.store(origin.authority)
    }

    // MARK: url

    mutating func changeURL(
        _ step: URLStep,
        _ values: TemplateValues,
        _ origin: inout Origin
    ) throws(StepInterruption) -> Bool {
        // The path first: it may drop the step, and then nothing else may have changed.
        var isChanged = false
        if let path = step.path { isChanged = try changePath(path, values) }
        let before = origin
        let scheme = step.scheme ?? origin.scheme
        // The port follows the scheme: https on port 80 is never intended.
        let port = step.port ?? (scheme == origin.scheme ? origin.port : scheme.defaultPort)
        origin = Origin(scheme: scheme, host: step.host ?? origin.host, port: port)
        return isChanged || origin != before
    }

    private mutating func changePath(
        _ path: URLStep.Path,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        guard hasPath else { return false }
        let target = targetBytes
        let normal = NormalPath(target.span)
        let old = normal.rewritten ?? Array(target[..<normal.pathCount])
        var new: [UInt8] = []
        switch path {
        case .literal(let template): new = try values.expand(template, for: .path)
        case .rewrite(let pattern, let replacement):
            guard let result = pattern.replacing(in: old.span, with: replacement) else {
                return false
            }
            guard !result.span.hasLineEndOrNUL else { throw .forbiddenByte }
            PercentEncoding.appendPath(result.span, to: &new)
        }
        if new.first != 0x2F { new.insert(0x2F, at: 0) }
        guard new != old else { return false }
        setTarget(new + target[normal.pathCount...])
        return true
    }

    // MARK: query

    /// Removes and sets parameters; all others keep their position and bytes.
    mutating func changeQuery(
        set: [(name: String, value: Template)],
        remove: [String],
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        var pending: [(name: [UInt8], text: [UInt8])] = []
        for (name, value) in set {
            var text: [UInt8] = []
            PercentEncoding.appendComponent(name.utf8.span, to: &text)
            text.append(0x3D)
            text += try values.expand(value, for: .query)
            pending.append((name: Array(name.utf8), text: text))
        }
        guard hasPath else { return false }
        let target = targetBytes
        let query = QueryParameters.range(in: target.span)
        let globs = remove.map { ValueGlob($0) }
        var isPlaced = [Bool](repeating: false, count: pending.count)
        var parts: [[UInt8]] = []
        for part in query.map({ QueryParameters.parts(of: target.span, $0) }) ?? [] {
            let name = QueryParameters.name(of: target.span.extracting(part))
            if let index = pending.firstIndex(where: { $0.name == name }) {
                if !isPlaced[index] { parts.append(pending[index].text) }
                isPlaced[index] = true
            } else if part.isEmpty || !globs.contains(where: { $0.matches(name.span) }) {
                parts.append(Array(target[part]))
            }
        }
        if parts.allSatisfy(\.isEmpty), parts.count == 1 { parts = [] }
        for (index, parameter) in pending.enumerated() where !isPlaced[index] {
            parts.append(parameter.text)
        }
        var new = Array(target[..<(query.map { $0.lowerBound - 1 } ?? target.count)])
        if !parts.isEmpty {
            new.append(0x3F)
            new += parts.joined(separator: [0x26])
        }
        // A lone `?` has no meaning, but the step must not remove it.
        let removesNothing = pending.isEmpty && new.count + 1 == target.count
        guard new != target, !(removesNothing && query?.isEmpty == true) else { return false }
        setTarget(new)
        return true
    }
}
