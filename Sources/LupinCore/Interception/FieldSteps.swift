// How steps change the fields of a message, whichever way it goes.

extension FieldSection {
    /// Applies a step that is about fields; false if it had nothing to do, or is none of them.
    mutating func apply(
        _ step: RequestStep,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        switch step {
        case .set(let name, let value):
            replace(name, by: try values.expand(value, for: .field))
            return true
        case .add(let name, let value):
            append(name, try values.expand(value, for: .field))
            return true
        case .default(let name, let value):
            guard !hasLine(name) else { return false }
            append(name, try values.expand(value, for: .field))
            return true
        case .remove(let pattern): return removeLines(ValueGlob(pattern))
        case .rewrite(let name, let pattern, let replacement):
            return try rewrite(name, pattern, replacement)
        case .query, .url, .compress, .auth, .delay: return false
        }
    }

    private func hasLine(_ name: String) -> Bool {
        lines.contains { $0.isForSteps && nameEquals($0, name.utf8.span) }
    }

    /// Adds a line behind all others.
    private mutating func append(_ name: String, _ value: [UInt8]) {
        lines.append(makeLine(Array(name.utf8), value))
    }

    /// Puts one line in the place of the first called `name` and removes the others.
    private mutating func replace(_ name: String, by value: [UInt8]) {
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

    private mutating func removeLines(_ glob: ValueGlob) -> Bool {
        let kept = lines.filter { line in
            !line.isForSteps
                || !glob.matches(storage.span.extracting(line.name.range), ignoringCase: true)
        }
        let isChanged = kept.count < lines.count
        if isChanged { lines = kept }
        return isChanged
    }

    /// Applies a replacement to each value of the field; values that do not match stay.
    private mutating func rewrite(
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
