// What `lupin exec --confine --explain` prints: what a command would see, and why.
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy

/// The places of a plan by what they are for the command.
struct ConfinedText {
    private let plan: ConfinedPlan
    private let configuration: Configuration
    private let environment: [String: String]

    init(_ plan: ConfinedPlan, _ configuration: Configuration, _ environment: [String: String]) {
        self.plan = plan
        self.configuration = configuration
        self.environment = environment
    }

    /// What holds then, for the user.
    static let withoutRules =
        "no rules file: through lupin the command reaches every host, and servers on this machine; "
        + "--rules FILE says which"

    /// What is told before a command runs, in one line: the first remark, which says what to do.
    static func note(_ remarks: [String]) -> String? {
        guard let first = remarks.first else { return nil }
        let others = remarks.count - 1
        return others == 0 ? first : "\(first) (--explain tells \(others) more)"
    }

    /// Who judges its requests, which variables it does not get, and which it should perhaps not.
    private var reach: [String] {
        let variables = ConfinedVariables(
            environment,
            secrets: configuration.secrets,
            showing: plan.shown
        )
        let leftOut = variables.leftOut(of: environment, isConfined: true).sorted()
        let standIns = configuration.settings.exec.variables.map(\.name)
        let given = environment.keys.sorted().filter { name in
            environment[name] != "" && Self.credentials.contains(Array(name.utf8).span)
                && !leftOut.contains(name) && !standIns.contains(name)
                // Of folders, not passwords.
                && name != "PWD" && name != "OLDPWD"
        }
        let rules = configuration.fileName.map { "requests are judged by \($0)" }
        return ["Reached", "  lupin alone: \(LogText.plain(rules ?? Self.withoutRules))"]
            + Self.list("Variables left out", leftOut.filter { !standIns.contains($0) })
            + Self.list("Variables with a stand-in", standIns.sorted())
            + Self.list("Variables given that look like credentials; env -u takes one away", given)
    }

    private static let credentials = SecretNames.set()

    private static func list(_ title: String, _ names: [String]) -> [String] {
        names.isEmpty ? [] : [title] + wrapped(names.map(LogText.plain))
    }

    private static let groups: [(title: String, marks: [ViewEntry.Mark])] = [
        ("Writable", [.writable]),
        ("Writable, dropped at the end", [.dropped, .fresh]),
        ("Read-only, as all that is not named here", [.shown, .kept]),
        ("Absent", [.absent, .emptied, .dotless]),
    ]

    var text: String {
        var lines = reach
        for (title, marks) in Self.groups {
            let entries = plan.view.entries.filter { marks.contains($0.mark) }
            if entries.isEmpty { continue }
            lines.append(title)
            for reason in ConfinedPlan.Reason.allCases {
                let found = entries.filter { entry in
                    plan.reasons[entry.path] == reason
                        // What of lupin's comes to be later is absent, too.
                        && (reason == .lupin || PublicFile.exists(entry.path))
                }
                let names = found.flatMap(names)
                if names.isEmpty { continue }
                lines.append("  \(reason.rawValue):")
                lines += Self.wrapped(names.sorted())
            }
        }
        return (lines + plan.remarks.map { "lupin: \($0)" }).joined(separator: "\n")
    }

    private func names(_ entry: ViewEntry) -> [String] {
        if entry.mark == .emptied {
            let isNamed = plan.view.entries.contains {
                $0.mark == .shown && CanonicalPath.isWithin($0.path, entry.path)
            }
            return [short(entry.path) + (isNamed ? "/* but for the above" : "")]
        }
        guard entry.mark == .dotless else { return [short(entry.path)] }
        // Those that are there now stand for all that could be.
        let dotted = PublicFile.names(in: entry.path).filter { name in
            name.hasPrefix(".")
                && !plan.view.entries.contains {
                    $0.mark != .absent && CanonicalPath.isWithin($0.path, "\(entry.path)/\(name)")
                }
        }
        let absent = dotted.map { "\(entry.path)/\($0)" }
        return absent.map(short) + ["\(short(entry.path))/.* but for the above"]
    }

    private func short(_ path: String) -> String {
        for home in plan.homes where CanonicalPath.isWithin(path, home) && plan.homes.first == home
        {
            return "~" + LogText.plain(String(path.dropFirst(home.count)))
        }
        return LogText.plain(path)
    }

    private static let widthMax = 80

    /// Names beside each other, in lines of 80 columns where they fit.
    private static func wrapped(_ names: [String]) -> [String] {
        var lines: [String] = []
        for name in names {
            if let last = lines.last, last.count + name.count + 2 <= widthMax {
                lines[lines.count - 1] = "\(last)  \(name)"
            } else {
                lines.append("    \(name)")
            }
        }
        return lines
    }
}
