// How a message differs from all others of its kind: a template with blanks to fill in.

/// A template, and where in it the blanks are.
///
/// The blanks have the length of what is filled in, so a message is a copy of the template with
/// some bytes replaced, and costs no allocation.
struct VariedText {
    /// Where a template has the ID of its request.
    static let requestID = mark("request")
    /// Where a template has the ID of its URL.
    static let urlID = mark("url")
    /// Where a template has a date: 1 February 1999 was a Monday.
    static let date = "Mon, 01 Feb 1999 00:00:00 GMT"

    private struct Blank {
        enum Content { case requestID, urlID, date }

        let content: Content
        let place: Int
    }

    private let template: [UInt8]
    private let blanks: [Blank]

    private static let weekdays = Array("MonTueWedThuFriSatSun".utf8)

    /// Finds the blanks; a template without any is the same in every copy.
    init(_ template: [UInt8]) {
        self.template = template
        blanks =
            Self.places(of: Self.requestID, in: template)
            .map { Blank(content: .requestID, place: $0) }
            + Self.places(of: Self.urlID, in: template).map { Blank(content: .urlID, place: $0) }
            + Self.places(of: Self.date, in: template).map { Blank(content: .date, place: $0) }
    }

    /// Writes a copy behind `output`.
    func append(to output: inout [UInt8], for ids: ExchangeIDs) {
        let start = output.count
        output.append(contentsOf: template)
        fill(&output, from: start, for: ids)
    }

    /// Fills in the blanks of a copy that begins at `start`, whatever stands there.
    func fill(_ bytes: inout [UInt8], from start: Int = 0, for ids: ExchangeIDs) {
        var bytes = bytes.mutableSpan
        for blank in blanks {
            let place = start + blank.place
            switch blank.content {
            case .requestID: Self.write(ids.request, to: &bytes, at: place)
            case .urlID: Self.write(ids.url, to: &bytes, at: place)
            case .date: Self.writeDate(ids.request.second, to: &bytes, at: place)
            }
        }
    }

    private static func write(_ id: RequestID, to bytes: inout MutableSpan<UInt8>, at place: Int) {
        for i in 0..<RequestID.length { bytes[place + i] = id.digit(i) }
    }

    /// Writes the parts of a date that differ within one month.
    private static func writeDate(
        _ second: Int,
        to bytes: inout MutableSpan<UInt8>,
        at place: Int
    ) {
        let day = second / 86_400
        for i in 0..<3 { bytes[place + i] = weekdays[day % 7 * 3 + i] }
        write(twoDigits: day + 1, to: &bytes, at: place + 5)
        write(twoDigits: second / 3600 % 24, to: &bytes, at: place + 17)
        write(twoDigits: second / 60 % 60, to: &bytes, at: place + 20)
        write(twoDigits: second % 60, to: &bytes, at: place + 23)
    }

    private static func write(
        twoDigits number: Int,
        to bytes: inout MutableSpan<UInt8>,
        at place: Int
    ) {
        bytes[place] = UInt8(ascii: "0") + UInt8(number / 10)
        bytes[place + 1] = UInt8(ascii: "0") + UInt8(number % 10)
    }

    private static func mark(_ name: String) -> String {
        let dashes = String(repeating: "-", count: RequestID.length - name.utf8.count - 2)
        return "<\(name)\(dashes)>"
    }

    private static func places(of mark: String, in template: [UInt8]) -> [Int] {
        let mark = Array(mark.utf8)
        return template.indices.filter { template[$0...].starts(with: mark) }
    }
}
