// `lupin settings` and `lupin help settings`: prints every key of the rules file on one page.
import ArgumentParser
import LupinPolicy

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "List every key of the rules file with its default and meaning.",
        discussion: """
            `lupin help settings` shows the same. Durations are written 500ms, 5s, 10m;
            sizes 64KiB, 10MiB; 0 needs no unit. A * marks what a rule may set too.

              lupin settings
              lupin settings | grep -A1 timeouts.connect


            """ + SettingsPage.text
    )

    func run() { PagedText.show(SettingsPage.text) }
}

enum SettingsPage {
    /// The maximum line width, so that help on a narrow terminal does not wrap the lines.
    private static let columns = 78
    private static let indent = "      "

    /// The tables of settings and of rules' keys, for users.
    static var text: String {
        var lines: [String] = []
        for setting in SettingsTable.settings {
            let mark = setting.isPerRule ? " *" : ""
            lines += entry("\(setting.name)\(mark)", setting)
        }
        lines += ["", "Keys of a retry policy, with the values of standard"]
        for setting in RetryKeyTable.policy {
            lines += entry(setting.name, setting)
            for leaf in RetryKeyTable.leaves(of: setting.key) { lines += entry(leaf.name, leaf) }
        }
        let groups = [
            ("Keys of a rule, with an example or the default", RuleKeyTable.rule),
            ("Keys of match", RuleKeyTable.match), ("Steps of request", RuleKeyTable.step),
        ]
        for (title, keys) in groups {
            lines += ["", title]
            for key in keys {
                lines += entry(key.key, key.form, key.sentence)
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func entry(_ name: String, _ setting: Setting) -> [String] {
        let kind = setting.typeText + (setting.rangeText.map { ", \($0)" } ?? "")
        var sentence = "\(setting.sentence) (\(kind))"
        if case .later = setting.availability { sentence += " — not in this version" }
        return entry(name, setting.defaultText, sentence)
    }

    private static func entry(
        _ name: String,
        _ value: String,
        _ sentence: String
    ) -> [String] {
        let gap = String(repeating: " ", count: max(2, 32 - name.count))
        return ["  \(name)\(gap)\(value)"] + wrapped(sentence)
    }

    private static func wrapped(_ sentence: String) -> [String] {
        var lines: [String] = []
        var line = indent
        for word in sentence.split(separator: " ") {
            if line.count + 1 + word.count > columns, line != indent {
                lines.append(line)
                line = indent
            }
            line += line == indent ? String(word) : " \(word)"
        }
        return lines + [line]
    }
}
