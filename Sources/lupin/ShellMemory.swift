// What a shell had before `lupin env`, kept in a variable of it, so that `--unset` gives it back.
import LupinCore
import LupinPolicy

/// The earlier values of the variables that lupin has set in a shell.
struct ShellMemory {
    /// The variable that holds them.
    static let name = "LUPIN_ENV_BEFORE"

    /// In the order in which they were noted; nil for a variable that was not set.
    private(set) var values: [(name: String, value: String?)] = []

    /// Reads what an earlier call noted; empty where there was none.
    init(_ environment: [String: String]) {
        guard let text = environment[Self.name] else { return }
        for entry in text.split(separator: ";") {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            // Another process may have written it, and the shell runs what is printed.
            guard ChildVariables.all.contains(name) else { continue }
            guard parts.count == 2 else {
                values.append((name, nil))
                continue
            }
            if let bytes = Array(parts[1].utf8).span.percentDecoded {
                values.append((name, String(decoding: bytes, as: UTF8.self)))
            }
        }
    }

    /// Notes the values of variables that lupin is about to set for the first time.
    mutating func note(_ names: [String], of environment: [String: String]) {
        for name in names where !values.contains(where: { $0.name == name }) {
            values.append((name, environment[name]))
        }
    }

    /// `http_proxy=http%3A%2F%2Fproxy.corp%3A3128;no_proxy`.
    var text: String {
        values.map { name, value in
            value.map { "\(name)=\($0.percentEncoded { $0.isUnreserved })" } ?? name
        }
        .joined(separator: ";")
    }
}
