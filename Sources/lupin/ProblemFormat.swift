// Problems of a rules file for editors and pipelines, instead of for people.
import ArgumentParser
import LupinCore
import LupinRules

/// How `lupin check` prints problems.
enum ProblemFormat: String, CaseIterable, ExpressibleByArgument {
    case text
    /// One object with all of them.
    case json
    /// Workflow commands, which GitHub shows beside the lines of a change.
    case github

    /// The problems of a file, with the end of the last line; empty where there is nothing to say.
    func text(of problems: [Diagnostic], in file: String) -> String {
        switch self {
        case .text: problems.report()
        case .json: Self.object(problems, file)
        case .github: problems.map(Self.command).joined()
        }
    }

    private static func object(_ problems: [Diagnostic], _ file: String) -> String {
        var line = JSONLine()
        line.openObject()
        line.add("file", text: file)
        line.add("ok", !problems.contains { !$0.isWarning })
        line.add("problems", objects: problems) { line, problem in
            line.add("severity", text: problem.isWarning ? "warning" : "error")
            line.add("code", text: problem.code.rawValue)
            line.add("message", text: problem.message)
            if let hint = problem.hint { line.add("hint", text: hint) }
            line.add("line", UInt64(max(0, problem.line)))
            line.add("column", UInt64(max(0, problem.column)))
            line.add("length", UInt64(max(0, problem.caretCount)))
        }
        line.closeObject()
        return String(decoding: line.bytes, as: UTF8.self) + "\n"
    }

    private static func command(_ problem: Diagnostic) -> String {
        var properties = "file=\(escaped(problem.file, isProperty: true))"
        if problem.line > 0 { properties += ",line=\(problem.line),col=\(problem.column)" }
        let text = problem.message + (problem.hint.map { "; \($0)" } ?? "")
        return "::\(problem.isWarning ? "warning" : "error") \(properties),"
            + "title=\(problem.code.rawValue)::\(escaped(text))\n"
    }

    /// What would end a command, or one of its properties.
    private static func escaped(_ text: String, isProperty: Bool = false) -> String {
        let line = text.replacing("%", with: "%25").replacing("\r", with: "%0D")
            .replacing("\n", with: "%0A")
        guard isProperty else { return line }
        return line.replacing(":", with: "%3A").replacing(",", with: "%2C")
    }
}
