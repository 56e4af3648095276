// Where inputs are kept that reached something once: a file a target, an input a line, escaped.
import Foundation

/// The inputs that are kept in the checkout.
package enum KeptInputs {
    /// `Tests/Fuzz/Corpora` of the checkout that this was built from.
    private static let folder = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Corpora")

    private static func file(_ target: FuzzTarget) -> URL {
        folder.appending(path: "\(target.name).txt")
    }

    /// Those of a target; none where there is no file.
    package static func inputs(of target: FuzzTarget) throws -> [[UInt8]] {
        guard let text = try? String(contentsOf: file(target), encoding: .utf8) else { return [] }
        return try text.split(separator: "\n").map { line in
            guard let input = unescapedInput(line) else {
                throw Broken("\(target.name).txt has a line that is no escaped input: \(line)")
            }
            return input
        }
    }

    /// Adds inputs behind those of a target.
    package static func keep(_ inputs: [[UInt8]], of target: FuzzTarget) throws {
        if inputs.isEmpty { return }
        let all = try self.inputs(of: target) + inputs
        let lines = all.map { escapedInput($0) + "\n" }
        try lines.joined().write(to: file(target), atomically: true, encoding: .utf8)
    }

    /// The names of targets that have a file.
    package static var names: [String] {
        let files = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (files ?? []).filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }
    }
}

/// An input in one line of ASCII: `\\`, `\n`, `\r`, `\t` and `\xHH` for what is not printable.
package func escapedInput(_ input: [UInt8]) -> String {
    var text = ""
    for byte in input {
        switch byte {
        case 0x5C: text += "\\\\"
        case 0x0A: text += "\\n"
        case 0x0D: text += "\\r"
        case 0x09: text += "\\t"
        case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let digits = String(byte, radix: 16)
            text += digits.utf8.count == 1 ? "\\x0\(digits)" : "\\x\(digits)"
        }
    }
    return text
}

/// What `escapedInput` made of an input; nil where a backslash begins nothing known.
package func unescapedInput(_ text: some StringProtocol) -> [UInt8]? {
    var input: [UInt8] = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
        guard byte == 0x5C else {
            input.append(byte)
            continue
        }
        switch rest.next() {
        case 0x5C: input.append(0x5C)
        case 0x6E: input.append(0x0A)
        case 0x72: input.append(0x0D)
        case 0x74: input.append(0x09)
        case 0x78:
            guard let high = rest.next(), let low = rest.next(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
            else { return nil }
            input.append(value)
        default: return nil
        }
    }
    return input
}
