// How a test lets exchanges be captured, and looks at what was kept.
import Foundation
import LupinTestKit
import Testing

extension ProxyFixture {
    /// The capture's folder is `DIR/capture`.
    static let captureFolder = adminSocket + "capture: {path: DIR/capture}\n"
    /// Every exchange is captured.
    static let capturing = captureFolder + "rules: [{match: {path: /**}, capture: true}]\n"

    var capturePath: String { "\(directory)/capture" }

    /// The detail of an exchange that has ended: lupin itself waits until all of it is written.
    func captured(_ id: String) throws -> RecordLine { try adminJSON("/v1/exchanges/\(id)") }

    /// The detail of the exchange with this place in the log.
    func captured(_ index: Int = 0) throws -> RecordLine {
        var id: String?
        try eventually("record \(index) of an exchange") {
            let records = recordsSoFar().filter { $0["event"] == "exchange" }
            id = records.count > index ? records[index]["id"] : nil
            return id != nil
        }
        return try captured(try #require(id))
    }

    /// The kept content of a body; nil for none.
    func body(_ side: String, of detail: RecordLine) throws -> String? {
        let id = try #require(detail["record.id"] ?? detail["live.id"])
        let answer = try admin("GET", "/v1/exchanges/\(id)/bodies/\(side)")
        return answer.status == 200 ? answer.bodyText : nil
    }

    /// The messages of an exchange: direction, kind, and text or Base64 of each.
    func messages(of detail: RecordLine) throws -> [String] {
        let id = try #require(detail["record.id"])
        let answer = try adminJSON("/v1/exchanges/\(id)/messages")
        return (0..<answer.count("messages")).map { i in
            let message = "messages.\(i)"
            let content = answer["\(message).text"] ?? answer["\(message).base64"]
            let parts = [answer["\(message).from"], answer["\(message).kind"], content]
            return parts.map { $0 ?? "-" }.joined(separator: " ")
        }
    }

    /// What `lupin har export` makes of all exchanges; too long for a pipe.
    func archive() throws -> Data {
        let file = "\(directory)/all.har"
        let script = "\"$0\" har export --socket \"$1\" > \"$2\""
        let arguments = ["-c", script, Lupin.path, adminPath, file]
        let result = try Lupin.run(program: "/bin/sh", arguments)
        #expect(result.code == 0, "\(result.errors)")
        return try Data(contentsOf: URL(filePath: file))
    }

    /// Every byte of every file of the capture.
    func capturedBytes() throws -> Data {
        var all = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: capturePath) {
            all += try Data(contentsOf: URL(filePath: "\(capturePath)/\(name)"))
        }
        return all
    }
}

extension RecordLine {
    /// What is said of a captured body.
    func side(_ word: String) -> [String: String] {
        for i in 0..<count("bodies") where self["bodies.\(i).side"] == word {
            var facts: [String: String] = [:]
            for key in ["bytes", "kept", "truncated", "type", "coding", "withheld"] {
                facts[key] = self["bodies.\(i).\(key)"]
            }
            return facts
        }
        return [:]
    }
}
