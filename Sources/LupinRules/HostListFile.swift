// Reads files of hosts that rules name: published block lists, plain or in /etc/hosts format.

import LupinCore
package import LupinPolicy

extension DecodingContext {
    /// Combines patterns into one list when there are so many that each alone would be costly.
    func gathered(_ patterns: [HostPattern]) -> [HostPattern] {
        guard patterns.count >= Self.gatheredMin else { return patterns }
        let list = HostList(patterns)
        let first = patterns.prefix(2).map(\.source).joined(separator: ", ")
        return [HostPattern(list, source: "\(first), … (\(list.count) hosts)")]
    }

    private static let gatheredMin = 256

    /// Loads the list of `{file: blocked.txt}`; returns nil after reporting a problem.
    func hostList(_ entries: [YAMLNode.Entry], at node: YAMLNode) -> HostPattern? {
        var isComplete = true
        for entry in entries where entry.key != "file" {
            unknownKey(entry, in: "host", known: ["file"])
            isComplete = false
        }
        guard isComplete else { return nil }
        guard let entry = entries.first else {
            let hint = "write {file: hosts.txt}"
            return refuse(.type, "expected a file, found nothing", at: node, hint: hint)
        }
        let value = entry.value
        guard let name = text(value, expected: "a file", example: "hosts.txt"),
            let path = path(name, as: .hosts, at: value)
        else { return nil }
        let source = "{file: \(name)}"
        if isUnread {
            note(unreadAt: value.location)
            return HostPattern(HostList(HostList.Builder()), source: source)
        }
        if let known = hostLists[path] { return known.map { HostPattern($0, source: source) } }
        files.append(path)
        // A file with errors is also read only once.
        hostLists[path] = .some(nil)
        guard let list = readHostList(path, at: value) else { return nil }
        hostLists[path] = list
        return HostPattern(list, source: source)
    }

    private func readHostList(_ path: String, at node: YAMLNode) -> HostList? {
        let bytes: [UInt8]
        do {
            bytes = try surroundings.readFile(path).bytes
        } catch {
            return refuse(.file, "cannot read \(path): \(error.reason)", at: node)
        }
        var reader = HostListReader(bytes)
        reader.read()
        if !reader.problems.isEmpty { tell(reader.problems, of: bytes, path, at: node) }
        let more = reader.problems.count - Self.problemsMax
        if more > 0 { error(.host, "\(path): \(more) more lines are no hosts", at: node) }
        if reader.problems.isEmpty, reader.hosts.count == 0 {
            warning(.host, "\(path) holds no host, so nothing matches", at: node)
        }
        listHash.add(bytes)
        return reader.problems.isEmpty ? reader.list : nil
    }

    /// Reports lines that are no hosts; those of a file elsewhere only by their numbers, since it
    /// may be any file.
    private func tell(
        _ problems: [HostListReader.Problem],
        of bytes: [UInt8],
        _ path: String,
        at node: YAMLNode
    ) {
        let isBeside =
            RulesFile.directory(of: path) == RulesFile.directory(of: source.name)
            || path.hasPrefix("\(surroundings.directory)/") && !path.contains("/../")
        guard isBeside else {
            let lines = problems.prefix(Self.problemsMax).map { "\($0.location.line)" }
            let message = "\(path): no host or pattern on line \(lines.joined(separator: ", "))"
            let hint = "its text is not shown, since it lies in another directory"
            return error(.host, message, at: node, hint: hint)
        }
        let source = SourceFile(name: path, text: String(decoding: bytes, as: UTF8.self))
        for problem in problems.prefix(Self.problemsMax) {
            add(errors: [source.diagnostic(.host, problem.message, at: problem.location)])
        }
    }

    /// The maximum number of lines of one file to report.
    private static let problemsMax = 20
}

/// Reads the lines of a host list.
///
/// A line is a host or a pattern, or, as in /etc/hosts, an address and its names; `#` begins a
/// comment.
package struct HostListReader {
    package struct Problem: Sendable {
        package let message: String
        package let location: FileLocation
    }

    private(set) var hosts = HostList.Builder()
    package private(set) var problems: [Problem] = []
    private let bytes: [UInt8]

    /// Names that every /etc/hosts has for the machine itself, which no list means to block.
    private static let ownNames: Set<String> = [
        "localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost",
        "ip6-loopback", "ip6-localnet", "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters",
        "ip6-allhosts", "0.0.0.0",
    ]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The hosts that were read.
    package var list: HostList { HostList(hosts) }

    package mutating func read() {
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var line = 1
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            readLine(start..<end, number: line)
            start = end + 1
            line += 1
        }
    }

    private mutating func readLine(_ line: Range<Int>, number: Int) {
        var isBehindAddress = false
        var words = 0
        var start = line.lowerBound
        while start < line.upperBound, bytes[start] != 0x23 {
            if Self.isBlank(bytes[start]) {
                start += 1
                continue
            }
            var end = start
            while end < line.upperBound, bytes[end] != 0x23, !Self.isBlank(bytes[end]) { end += 1 }
            words += 1
            let column = start - line.lowerBound + 1
            if words == 1, isAddress(start..<end), hasWord(behind: end, in: line) {
                isBehindAddress = true
            } else if words > 1, !isBehindAddress {
                return note("one host a line, or an address and its names", number, column)
            } else {
                add(start..<end, isNameOfAddress: isBehindAddress, number, column)
            }
            start = end
        }
    }

    private mutating func add(
        _ word: Range<Int>,
        isNameOfAddress: Bool,
        _ line: Int,
        _ column: Int
    ) {
        if let host = try? Host(parsing: bytes.span.extracting(word)) {
            if isNameOfAddress, Self.ownNames.contains(host.text) { return }
            return hosts.insert(host)
        }
        let text = String(decoding: bytes[word], as: UTF8.self)
        do throws(PatternProblem) {
            hosts.insert(try HostPattern(text))
        } catch {
            note(error.message, line, column + error.offset)
        }
    }

    private mutating func note(_ message: String, _ line: Int, _ column: Int) {
        problems.append(
            Problem(message: message, location: FileLocation(line: line, column: column))
        )
    }

    /// Whether a word is an IP address, with or without a zone.
    private func isAddress(_ word: Range<Int>) -> Bool {
        // Most words are names, which end with a letter and have no colon.
        let isNumeric = bytes[word].contains(0x3A) || bytes[word].last?.isASCIIDigit == true
        guard isNumeric else { return false }
        let text = String(decoding: bytes[word].prefix { $0 != 0x25 }, as: UTF8.self)
        return IPAddress(text) != nil
    }

    private func hasWord(behind end: Int, in line: Range<Int>) -> Bool {
        for byte in bytes[end..<line.upperBound] where !Self.isBlank(byte) { return byte != 0x23 }
        return false
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }
}
