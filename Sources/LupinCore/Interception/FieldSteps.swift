// How steps change the fields of a message, whichever way it goes.

extension FieldSection {
    /// Applies a step that is about fields; false if it had nothing to do, or is none of them.
    mutating func apply(
        _ step: RequestStep,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        switch step {
        case .set(let name, let value):
            replace(name, by: try makeLine(name, value, values))
            return true
        case .add(let name, let value):
            lines.append(try makeLine(name, value, values))
            return true
        case .default(let name, let value):
            guard !hasLine(name) else { return false }
            lines.append(try makeLine(name, value, values))
            return true
        case .remove(let pattern): return removeLines(ValueGlob(pattern))
        case .rewrite(let name, let pattern, let replacement):
            return try rewrite(name, pattern, replacement)
        case .query, .url, .compress, .auth, .delay: return false
        }
    }

    private func hasLine(_ name: String) -> Bool {
        let wanted = name.utf8Span.span
        for line in lines where line.isForSteps && nameEquals(line, wanted) { return true }
        return false
    }

    /// Puts a line in the place of the first called `name` and removes the others.
    private mutating func replace(_ name: String, by line: Line) {
        let wanted = name.utf8Span.span
        var isPlaced = false
        var i = 0
        while i < lines.count {
            guard nameEquals(lines[i], wanted), lines[i].isForSteps else {
                i += 1
                continue
            }
            if isPlaced {
                lines.remove(at: i)
            } else {
                lines[i] = line
                isPlaced = true
                i += 1
            }
        }
        if !isPlaced { lines.append(line) }
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

    /// Writes a line with the value of a template behind the storage.
    private mutating func makeLine(
        _ name: String,
        _ value: Template,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Line {
        let start = storage.count
        storage.append(copying: name.utf8Span.span)
        storage.append(0x3A)
        storage.append(0x20)
        let valueStart = storage.count
        do throws(StepInterruption) {
            try values.append(value, for: .field, to: &storage)
        } catch {
            storage.removeLast(storage.count - start)
            throw error
        }
        let valueRange = ByteRange(start: valueStart, count: storage.count - valueStart)
        storage.append(0x0D)
        storage.append(0x0A)
        let nameRange = ByteRange(start: start, count: valueStart - start - 2)
        let known = FieldName(storage.span.extracting(nameRange.range))
        names.insert(known)
        return Line(name: nameRange, value: valueRange, known: known, isContiguous: true)
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
