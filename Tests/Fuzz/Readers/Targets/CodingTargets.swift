// Content codings, and the messages of a WebSocket: what comes out is bounded, however it is cut.
import LupinCoding
import LupinCore
import LupinRecords

enum CodingTargets {
    static let all = [coding, brotli, zstd, webSocket]

    /// A content in a coding that its first byte chooses.
    static let coding = FuzzTarget(
        "content-coding",
        seeds: [
            "g\u{1F}\u{8B}\u{8}\0\0\0\0\0\0\u{3}"
                + "\u{4B}\u{4C}\u{4}\0\u{43}\u{BE}\u{B7}\u{E8}\u{1}\0\0\0",
            "d\u{78}\u{9C}\u{4B}\u{4}\0\0\u{62}\0\u{62}", "d\u{4B}\u{4}\0", "g",
            "g\u{1F}\u{8B}\u{8}\u{1F}\0\0\0\0\0\u{3}\u{2}\0abn\0c\0\0\0",
        ],
        words: ["\u{1F}\u{8B}\u{8}", "\u{78}\u{9C}", "\0\0\u{FF}\u{FF}", "\u{3}\0"]
    ) { input in
        try outcome(input.first == 0x67 ? .gzip : .deflate, Array(input.dropFirst()))
    }

    static let brotli = FuzzTarget(
        "brotli",
        seeds: [
            "\0\0\u{10}a\u{3}", "\u{83}\0\u{80}ab\u{3}", "\u{6}", "",
            "\u{C2}\u{2}\0\u{BF}\u{91}\u{D2}\u{CD}\u{9B}\u{A8}\u{CA}\u{D0}\u{92}\u{D}"
                + "\u{E4}-\u{E4}\u{89}\u{3}\u{1C}\u{7}",
            "\u{2}\u{5}\0\u{BF}\u{91}\u{AA}\u{F6}\u{97}h<t\u{ED}S\u{C6}\u{D6}&i\u{1}F"
                + "\u{9B}\u{EC}\u{4}\u{18}n\u{C8}G\u{DC}\u{C5}\u{99}\u{4}",
        ],
        words: ["\u{11}", "\u{91}", "\u{3}", "\u{1B}", "\u{BF}"]
    ) { input in
        try outcome(.brotli, input)
    }

    static let zstd = FuzzTarget(
        "zstd",
        seeds: [
            "(\u{B5}/\u{FD} \u{1}\u{9}\0\0a",
            "(\u{B5}/\u{FD} \u{17}e\0\00hello \u{1}\0\u{99}K\u{11}",
            "P*M\u{18}\u{2}\0\0\0xy(\u{B5}/\u{FD}\0\u{58}\u{9}\0\0a",
            "(\u{B5}/\u{FD}\u{20}\0\u{1}\0\0",
            "(\u{B5}/\u{FD}\0\u{58}\u{A3}\u{1}\0z", "",
        ],
        words: ["(\u{B5}/\u{FD}", "P*M\u{18}", "\u{70}", "\u{9}\0\0", "%\u{B5}/\u{FD}", "\0\0\0"]
    ) { input in
        try outcome(.zstd, input)
    }

    private static func outcome(_ coding: DecodableCoding, _ body: [UInt8]) throws -> String {
        let whole = decoded(coding, [body[...]])
        let pieces = decoded(coding, body.indices.map { body[$0...$0] })
        try hold(whole.problem == pieces.problem, "pieces are decoded as the whole is")
        if whole.problem == nil { try hold(whole.output == pieces.output, "and to the same") }
        try hold(whole.output.count <= bytesMax, "no more than allowed comes out")
        return whole.problem.map { "\($0)" } ?? "decoded \(size(whole.output.count))"
    }

    private static let bytesMax = 8192

    private static func decoded(
        _ coding: DecodableCoding,
        _ pieces: [ArraySlice<UInt8>]
    ) -> (output: [UInt8], problem: CodingProblem?) {
        var decoder = ContentDecoder(coding, bytesMax: bytesMax)
        var output: [UInt8] = []
        do throws(CodingProblem) {
            for piece in pieces { try decoder.decode(piece.span, isLast: false, into: &output) }
            try decoder.decode(Span(), isLast: true, into: &output)
            return (output, nil)
        } catch {
            return (output, error)
        }
    }

    /// Frames of one direction, and what permessage-deflate makes of them.
    static let webSocket = FuzzTarget(
        "websocket",
        seeds: [
            "\u{81}\u{2}hi", "\u{81}\u{82}abcd\u{9}\u{B}", "\u{1}\u{1}a\u{89}\0\u{80}\u{1}b",
            "\u{C1}\u{7}\u{F2}H\u{CD}\u{C9}\u{C9}\u{7}\0", "\u{88}\u{2}\u{3}\u{E8}",
            "\u{82}\u{7E}\0\u{3}abc", "\u{82}\u{7F}\0\0\0\0\0\0\0\u{1}x",
        ],
        words: ["\u{81}", "\u{C1}", "\u{7E}", "\u{7F}", "\u{80}", "\u{FF}\u{FF}\u{FF}\u{FF}"]
    ) { input in
        let whole = messages([input[...]])
        let pieces = messages(input.indices.map { input[$0...$0] })
        try hold(whole == pieces, "pieces are read as the whole is")
        var inflater = try MessageInflater(bytesMax: 16)
        for message in whole where message.isCompressed {
            guard let text = try? inflater.inflate(message.payload.span) else {
                return "no deflate"
            }
            try hold(text.text.count == min(text.bytes, 16), "as much is kept as may be")
        }
        try hold(whole.allSatisfy { $0.payload.count <= 100 }, "no more than allowed is kept")
        return whole.map(\.kind.rawValue).prefix(2).joined(separator: " ")
    }

    private static func messages(_ pieces: [ArraySlice<UInt8>]) -> [WebSocketMessage] {
        var reader = WebSocketReader(bytesMax: 100)
        var messages: [WebSocketMessage] = []
        for piece in pieces { reader.read(piece.span) { messages.append($0) } }
        return messages
    }
}
