// One line of the log, as a test asks for its values.
import Foundation

/// A record line; values are found by their path, such as `http.response.status_code` or
/// `attempts.0.status`.
struct RecordLine {
    private let root: Any
    /// The line as it stands in the file.
    let text: String

    /// nil when the line is not a JSON object.
    init?(_ text: String) {
        guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            value is [String: Any]
        else { return nil }
        root = value
        self.text = text
    }

    /// The value at `path` as text; nil when it is absent.
    subscript(_ path: String) -> String? {
        value(path).map { "\($0)" }
    }

    /// The number at `path`.
    func number(_ path: String) -> Double? { (value(path) as? NSNumber)?.doubleValue }

    /// The strings of the list at `path`; empty when it is absent.
    func list(_ path: String) -> [String] { value(path) as? [String] ?? [] }

    /// How many elements the list at `path` has.
    func count(_ path: String) -> Int { (value(path) as? [Any])?.count ?? 0 }

    private func value(_ path: String) -> Any? {
        var value: Any? = root
        for key in path.split(separator: ".") {
            if let list = value as? [Any], let i = Int(key) {
                value = list.indices.contains(i) ? list[i] : nil
            } else {
                value = (value as? [String: Any])?[String(key)]
            }
        }
        return value
    }
}
