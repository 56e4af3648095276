// Whether lupin's log has every request of a storm, and each of them once.
import Foundation
import LupinCore

/// What the lines of a log say together.
struct StormLog {
    /// Lines about requests.
    private(set) var exchanges = 0
    /// Those among them that don't say what was asked for: the client left too early for that.
    private(set) var nameless = 0
    /// Lines that lupin says it has dropped.
    private(set) var dropped = 0
    /// Files that the log has turned over into.
    private(set) var files = 0
    /// How often each request is there.
    private var requests: [RequestID: Int] = [:]
    private var exchangeIDs: Set<String> = []
    /// What is wrong with single lines.
    private(set) var problems: [String] = []

    /// Reads the log and all that it has turned over into.
    init(_ log: URL) throws {
        while true {
            let path = files == 0 ? log.path : "\(log.path).\(files)"
            guard let data = FileManager.default.contents(atPath: path) else { break }
            files += 1
            let bytes = [UInt8](data)
            let text = bytes.span
            var start = 0
            for i in text.indices where text[i] == UInt8(ascii: "\n") {
                read(text.extracting(start..<i))
                start = i + 1
            }
            if start < text.count { problems.append("a line without an end in \(path)") }
        }
    }

    /// What is wrong, if exactly these requests were sent, in the order of their numbers;
    /// `mayBeNameless` says whether the client of the request with this number leaves early.
    func problems(sent: [RequestID], mayBeNameless: (Int) -> Bool) -> [String] {
        var problems = self.problems
        let missing = sent.indices.filter { requests[sent[$0]] == nil }
        if let first = missing.first {
            let count = missing.count { !mayBeNameless($0) }
            if count > dropped || missing.count > nameless + dropped {
                problems.append(
                    "\(missing.count) requests are not in the log, such as \(sent[first]), "
                        + "\(nameless) lines name none, and \(dropped) were dropped"
                )
            }
        }
        if nameless > missing.count {
            problems.append("\(nameless) lines name no request, \(missing.count) may")
        }
        let repeated = requests.filter { $0.value > 1 }
        if let first = repeated.first {
            problems.append("\(repeated.count) requests are there twice, such as \(first.key)")
        }
        let foreign = Set(requests.keys).subtracting(sent)
        if let first = foreign.first {
            problems.append("\(foreign.count) requests were never sent, such as \(first)")
        }
        return problems
    }

    private static let droppedMark = Array("\"dropped\":".utf8)
    private static let exchangeMark = Array("\"event\":\"exchange\",\"id\":\"".utf8)
    private static let abortedMark = Array("\"outcome\":\"aborted\"".utf8)
    private static let pathMark = Array(StormPart.folder.utf8)
    private static let slash = [UInt8(ascii: "/")]
    private static let idLength = 32

    private mutating func read(_ line: Span<UInt8>) {
        if let place = Self.place(behind: Self.droppedMark, in: line) {
            let end = (place..<line.count).first { !(0x30...0x39).contains(line[$0]) }
            dropped += HeadScan.number(line.extracting(place..<(end ?? line.count))) ?? 0
        }
        guard let start = Self.place(behind: Self.exchangeMark, in: line) else { return }
        exchanges += 1
        guard start + Self.idLength <= line.count, line[line.count - 1] == UInt8(ascii: "}") else {
            return problems.append("a line that is none: \(String(copying: line))")
        }
        let id = String(copying: line.extracting(start..<start + Self.idLength))
        if !exchangeIDs.insert(id).inserted { problems.append("the id \(id) is there twice") }
        guard let path = Self.place(behind: Self.pathMark, in: line) else {
            let isAborted = Self.place(behind: Self.abortedMark, in: line) != nil
            if !isAborted { problems.append("\(id) names no request") }
            return nameless += 1
        }
        // The lane and the fault stand before the request's ID.
        var begin = path
        for _ in 0..<2 {
            begin = Self.place(behind: Self.slash, in: line, from: begin) ?? line.count
        }
        guard begin + RequestID.length <= line.count,
            let request = RequestID(line.extracting(begin..<begin + RequestID.length))
        else { return problems.append("\(id) names a request that is none") }
        requests[request, default: 0] += 1
    }

    /// The first place behind `mark`, which begins at `start` or later.
    private static func place(
        behind mark: [UInt8],
        in line: Span<UInt8>,
        from start: Int = 0
    ) -> Int? {
        let last = line.count - mark.count
        guard start <= last else { return nil }
        for i in start...last where line[i] == mark[0] {
            var count = 1
            while count < mark.count, line[i + count] == mark[count] { count += 1 }
            if count == mark.count { return i + count }
        }
        return nil
    }
}
