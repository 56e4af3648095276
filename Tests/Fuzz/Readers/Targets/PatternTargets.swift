// Patterns of rules files, with something to match: the first line of an input is the pattern.
import LupinCaching
import LupinCore
import LupinPolicy

enum PatternTargets {
    static let all = [regularExpression, globs, hostPattern, short]

    static let regularExpression = FuzzTarget(
        "regular-expression",
        seeds: [
            "^/(v[0-9]{1,3})/(.*)$\n/v12/x", "(a|b)*?c+\\b\nababcc", "[^a-f\\d]{2,}\nxyz",
            "(?i)\\x41\\.\\w\nA._", "(()*)*\naa", "a{3}{2}\naaaaaa",
        ],
        words: [
            "(", ")", "*", "+", "?", "{2,}", "{999999}", "[a-z]", "[^", "|", "\\d", "\\b", "\\x41",
            "(?:", "^", "$", "$1", "${1}", "$18446744073709551616",
        ]
    ) { input in
        let (pattern, subject) = halves(input)
        let expression: RegularExpression
        do throws(PatternProblem) {
            expression = try RegularExpression(text(pattern), ignoringCase: pattern.count % 2 == 0)
        } catch {
            try hold(error.offset <= text(pattern).count, "a problem lies in the pattern")
            return "problem"
        }
        let captures = expression.captures(in: subject.span)
        try hold(expression.matches(subject.span) == (captures != nil), "a match has captures")
        for range in (captures ?? []).compactMap(\.self) {
            try hold(range.upperBound <= subject.count, "a group lies in the subject")
        }
        _ = expression.replacingFirst(in: subject.span, with: "<$1$0$$${9}>")
        _ = Replacement.problem(in: text(subject), groupCount: expression.groupCount)
        return "groups \(size(captures?.count ?? -1))"
    }

    static let globs = FuzzTarget(
        "glob",
        seeds: ["/a/**/b*\n/a/x/y/bc", "*.dev\nb.dev", "a?c\nabc", "~/^x/\nxy", "%2e/\n/./"],
        words: ["**", "*", "?", "/", "[a]", "{a,b}", "%41"]
    ) { input in
        let (pattern, subject) = halves(input)
        let glob = ValueGlob(text(pattern))
        let isValue = glob.matches(subject.span)
        if isValue {
            try hold(glob.matches(subject.span, ignoringCase: true), "case matters less")
        }
        let hasPath = (try? PathPattern(text(pattern)))?.matches(subject.span)
        let hasValue = (try? ValuePattern(text(pattern)))?.matches(subject.span)
        let isStored = (try? CachePattern(text(pattern)))?.matches(text(subject))
        return "\(isValue) \(hasPath == true) \(hasValue == true) \(isStored == true)"
    }

    static let hostPattern = FuzzTarget(
        "host-pattern",
        seeds: ["*.a.dev\nb.a.dev", "**.dev\na.b.dev", "10.0.0.0/8\n10.1.2.3", "[::1]\n::1"],
        words: ["*.", "**.", "a.dev", "/8", "[", "]"]
    ) { input in
        let (pattern, subject) = halves(input)
        guard let host = try? HostPattern(text(pattern)) else { return "problem" }
        guard let subject = try? Host(parsing: subject.span) else { return "no host" }
        return "\(host.matches(subject))"
    }

    static let short = FuzzTarget(
        "match",
        seeds: ["https://*.a.dev:8000-8099/v1/**", "a.dev", "http://[::1]:80", "**:*/x"],
        words: ["://", ":", "-", "*", "/**", "[::1]", "?"]
    ) { input in
        do throws(PatternProblem) {
            _ = try Match(string: text(input))
            return "match"
        } catch {
            try hold(error.offset <= text(input).count, "a problem lies in the text")
            return "problem"
        }
    }
}
