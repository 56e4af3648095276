// Applies steps to the fields of a message, in either direction.

import LupinCore

extension FieldSection {
    /// Applies a step about fields; returns false when it changes nothing, or isn't about fields.
    mutating func apply(
        _ planned: PlannedStep,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        if let line = planned.line { return apply(planned.step, line) }
        if let removal = planned.removal { return removeLines(removal) }
        return try apply(planned.step, values)
    }

    private mutating func apply(
        _ step: RequestStep,
        _ values: TemplateValues
    ) throws(StepInterruption) -> Bool {
        switch step {
        case .set(let name, let value):
            let line = try makeLine(name, value, values)
            replace(name.utf8Span.span, by: line)
            return true
        case .add(let name, let value):
            lines.append(try makeLine(name, value, values))
            return true
        case .default(let name, let value):
            guard !hasLine(name.utf8Span.span) else { return false }
            lines.append(try makeLine(name, value, values))
            return true
        case .rewrite(let name, let pattern, let replacement):
            return try rewrite(name, pattern, replacement)
        case .remove, .query, .url, .compress, .auth, .delay, .edit: return false
        }
    }

    /// Applies a step that sets a field to a constant value.
    private mutating func apply(_ step: RequestStep, _ planned: PlannedLine) -> Bool {
        // A known name that is not in the section need not be searched.
        let mayBeThere = planned.known == .other || names.contains(planned.known)
        switch step {
        case .set:
            let line = makeLine(planned)
            if mayBeThere { replace(planned.name, by: line) } else { lines.append(line) }
        case .add: lines.append(makeLine(planned))
        case .default:
            if mayBeThere, hasLine(planned.name) { return false }
            lines.append(makeLine(planned))
        case .remove, .rewrite, .query, .url, .compress, .auth, .delay, .edit: return false
        }
        return true
    }

    /// Reserves capacity for all lines that the steps add.
    mutating func reserve(for steps: [PlannedStep]) {
        var bytes = 0
        var count = 0
        for step in steps {
            guard let line = step.line else { continue }
            bytes += line.bytes.count
            count += 1
        }
        if count == 0 { return }
        storage.reserveCapacity(storage.count + bytes)
        lines.reserveCapacity(lines.count + count)
    }

    private mutating func makeLine(_ planned: PlannedLine) -> Line {
        let start = storage.count
        storage.append(copying: planned.bytes.span)
        names.insert(planned.known)
        let valueStart = planned.nameCount + 2
        return Line(
            name: ByteRange(start: start, count: planned.nameCount),
            value: ByteRange(
                start: start + valueStart,
                count: planned.bytes.count - valueStart - 2
            ),
            known: planned.known,
            isContiguous: true
        )
    }

    private func hasLine(_ wanted: Span<UInt8>) -> Bool {
        for line in lines where line.isForSteps && nameEquals(line, wanted) { return true }
        return false
    }

    /// Replaces the first line called `name` and removes the others.
    private mutating func replace(_ wanted: Span<UInt8>, by line: Line) {
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

    private mutating func removeLines(_ removal: PlannedRemoval) -> Bool {
        let known = removal.known
        let before = lines.count
        if known != .other {
            // A known name that is not in the section need not be searched.
            guard names.contains(known) else { return false }
            lines.removeAll { $0.known == known && $0.isForSteps }
            return lines.count < before
        }
        let storage = storage
        lines.removeAll { line in
            let name = storage.span.extracting(line.name.range)
            return line.isForSteps && removal.glob.matches(name, ignoringCase: true)
        }
        return lines.count < before
    }

    /// Applies a replacement to each value of the field; values without a match stay unchanged.
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

    /// Appends a line with the value of a template to the storage.
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

    /// Appends a line to the storage; the offsets of all others stay valid.
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
