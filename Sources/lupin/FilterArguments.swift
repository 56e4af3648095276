// Filters and references to exchanges on the command line, with their mistakes underlined.
import ArgumentParser
import LupinRecords

extension ExchangeFilter {
    /// The filter that the words of a command line make up.
    init(commandLine words: [String]) throws {
        let text = FilterWords.joined(words)
        do throws(FilterProblem) {
            try self.init(text)
        } catch {
            throw ValidationError(error.text(in: text))
        }
    }

    /// A comparison with a text that the user gave as an option.
    static func comparison(_ key: FilterKey, _ value: String, isExact: Bool) -> String {
        "\(key.rawValue)\(isExact ? "=" : ":")\(FilterWords.quoted(value[...]))"
    }
}

extension ExchangeReference {
    /// The exchange that the words of a command line name; nil when they name none.
    init?(commandLine words: [String]) throws {
        do throws(FilterProblem) {
            try self.init(words)
        } catch {
            throw ValidationError(error.text(in: FilterWords.joined(Array(words.dropFirst()))))
        }
    }
}
