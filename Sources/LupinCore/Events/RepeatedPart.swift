// Lines of exchanges that are alike: what they have in common is made once.

/// What the lines of exchanges have in common that were alike.
package struct RepeatedPart: Sendable {
    /// Before what is said of the network, or all where that is the same for all.
    fileprivate let front: [UInt8]
    /// Behind that, up to the attempts.
    fileprivate let rest: [UInt8]?
    fileprivate let ending: Ending?

    /// For lines that are always written whole.
    package static let none = RepeatedPart(front: [], rest: nil, ending: nil)

    /// The end of a line, with gaps for the stream of the only attempt and for how long it took.
    ///
    /// A class, because it is too long to be copied for every line.
    fileprivate final class Ending: Sendable {
        /// Up to the number of the stream, or to the time where there is none.
        let opening: [UInt8]
        /// Behind the number of the stream, up to the time; empty where there is none.
        let afterStream: [UInt8]
        /// What follows the time, each time: once, or three times where there is an attempt.
        let first: Fragment
        let second: Fragment
        let third: Fragment
        let hasAttempt: Bool
        /// Where that went.
        let peer: IPAddress?
        let peerPort: UInt16

        init(_ opening: [[UInt8]], _ pieces: [Fragment], of attempt: AttemptRecord?) {
            self.opening = opening[0]
            afterStream = opening.count > 1 ? opening[1] : []
            first = pieces[0]
            second = pieces.count > 1 ? pieces[1] : Fragment("")
            third = pieces.count > 2 ? pieces[2] : Fragment("")
            hasAttempt = attempt != nil
            peer = attempt?.peer
            peerPort = attempt?.peerPort ?? 0
        }
    }
}

extension RecordFormat {
    /// The part of a record's line that is the same for all that differ in id, start, client,
    /// timing and the attempt's peer alone, and where they came on streams in the streams and in
    /// all bytes.
    package mutating func repeatedPart(of record: borrowing ExchangeRecord) -> RepeatedPart {
        var line = JSONLine()
        addStart(record, to: &line)
        let start = line.bytes.count
        addMessages(record, to: &line)
        // No stream is like another one, and heads take less room when they come again.
        let isOnStream = record.stream != nil
        if !isOnStream { addNetwork(record, to: &line) }
        let network = line.bytes.count
        addDecisions(record, to: &line)
        let ending = ending(of: record)
        guard isOnStream else {
            return RepeatedPart(front: Array(line.bytes[start...]), rest: nil, ending: ending)
        }
        return RepeatedPart(
            front: Array(line.bytes[start..<network]),
            rest: Array(line.bytes[network...]),
            ending: ending
        )
    }

    /// Appends the record's line, of which `part` is known.
    package mutating func appendJSON(
        _ record: borrowing ExchangeRecord,
        repeating part: borrowing RepeatedPart,
        dropped: Int,
        to line: inout JSONLine
    ) {
        addStart(record, to: &line)
        line.bytes.append(contentsOf: part.front)
        if let rest = part.rest {
            addNetwork(record, to: &line)
            line.bytes.append(contentsOf: rest)
        }
        if dropped > 0 || !addEnding(of: record, repeating: part, to: &line) {
            addEnd(record, dropped: dropped, to: &line)
        }
    }

    /// Appends the end of a line as it was with another time and on another stream.
    ///
    /// False, and nothing is written, where more is different.
    private func addEnding(
        of record: borrowing ExchangeRecord,
        repeating part: borrowing RepeatedPart,
        to line: inout JSONLine
    ) -> Bool {
        guard let ending = part.ending, let time = record.timing.total else { return false }
        let attempts = record.attempts.span
        guard ending.hasAttempt else {
            guard attempts.isEmpty, record.timing.wait == nil else { return false }
            line.bytes.append(contentsOf: ending.opening)
            line.appendBounded(320) { output in
                output.append(milliseconds: time)
                output.append(ending.first)
            }
            return true
        }
        guard attempts.count == 1,
            attempts[0].timing.wait == time, record.timing.wait == time,
            attempts[0].timing.blocked == nil, attempts[0].goAway == nil,
            attempts[0].peerPort == ending.peerPort, attempts[0].peer == ending.peer
        else { return false }
        let stream = attempts[0].stream
        guard (stream == nil) == ending.afterStream.isEmpty else { return false }
        line.bytes.append(contentsOf: ending.opening)
        if let stream {
            line.appendBounded(64) { output in output.append(decimal: UInt64(stream)) }
            line.bytes.append(contentsOf: ending.afterStream)
        }
        line.appendBounded(512) { output in
            output.append(milliseconds: time)
            output.append(ending.first)
            output.append(milliseconds: time)
            output.append(ending.second)
            output.append(milliseconds: time)
            output.append(ending.third)
        }
        return true
    }

    /// The end of a record's line; nil where it has more or longer parts than usual.
    private mutating func ending(of record: borrowing ExchangeRecord) -> RepeatedPart.Ending? {
        guard record.attempts.count <= 1, record.error == nil, record.tunnel == nil else {
            return nil
        }
        var shown = copy record
        shown.timing.total = Gap.time
        if !shown.attempts.isEmpty {
            shown.timing.wait = Gap.time
            shown.attempts[0].timing.wait = Gap.time
            shown.attempts[0].timing.blocked = nil
            shown.attempts[0].goAway = nil
            if shown.attempts[0].stream != nil { shown.attempts[0].stream = Gap.stream }
        } else if shown.timing.wait != nil {
            return nil
        }
        var line = JSONLine()
        // Something stands before it, so a comma is due.
        line.bytes.append(0x7D)
        addEnd(shown, dropped: 0, to: &line)
        line.bytes.removeFirst()
        let attempt = shown.attempts.first
        let texts = line.bytes.split(by: Gap.timeText)
        let opening = texts[0].split(by: Gap.streamText)
        let pieces = texts.dropFirst().compactMap { Fragment($0) }
        guard pieces.count == texts.count - 1, pieces.count == (attempt == nil ? 1 : 3),
            opening.count == (attempt?.stream == nil ? 1 : 2)
        else { return nil }
        return RepeatedPart.Ending(opening, pieces, of: attempt)
    }

    /// Numbers that stand where others will: a time of eleven days, and one that is no stream's,
    /// since a client's are odd and below 2³¹.
    private enum Gap {
        static let time: Int64 = 987_654_321_987
        static let timeText = Array("987654321.987".utf8)
        static let stream: UInt32 = 4_294_967_290
        static let streamText = Array("4294967290".utf8)
    }
}

extension [UInt8] {
    /// What stands before, between and behind the places where `text` stands.
    fileprivate func split(by text: [UInt8]) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var start = 0
        var place = 0
        while place + text.count <= count {
            if self[place..<(place + text.count)].elementsEqual(text) {
                parts.append(Array(self[start..<place]))
                place += text.count
                start = place
            } else {
                place += 1
            }
        }
        return parts + [Array(self[start...])]
    }
}
