// Parses `match:` given as one string: `[scheme://]host[:port][/path]`.

import LupinCore

extension Match {
    /// Parses the short form, such as `*.acme.dev/v1/**` or `https://[::1]:8443`.
    ///
    /// The globs are those of `host:` and `path:`; a host of only `*` or `**` is any host.
    /// - Throws: What is wrong; the offset refers to `string`.
    package init(string: String) throws(PatternProblem) {
        self.init()
        var rest = string[...]
        if let slashes = string.firstRange(of: "://") {
            let name = string[..<slashes.lowerBound]
            schemes = [try Self.scheme(name)]
            rest = string[slashes.upperBound...]
        } else if let (scheme, rest) = PatternProblem.schemeWithoutColon(string) {
            let text = "`\(string)` has no `://`; write `\(scheme)://\(rest)`"
            throw PatternProblem(text, at: 0)
        }
        func offset(_ index: String.Index) -> Int {
            string.distance(from: string.startIndex, to: index)
        }
        if rest.hasPrefix("/"), RegularExpression.body(ofLiteral: String(rest)) != nil {
            throw PatternProblem(
                "a regular expression needs its key; write `host: \(rest)` or `path: \(rest)`",
                at: offset(rest.startIndex)
            )
        }
        let pathStart = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<pathStart]
        if let index = authority.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            throw PatternProblem(
                "a query needs its key; write `query: {name: value}`",
                at: offset(index)
            )
        }
        if let index = authority.firstIndex(of: "@") {
            throw PatternProblem("a user name does not belong here", at: offset(index))
        }
        let hostEnd = Self.endOfHost(authority)
        if hostEnd < authority.endIndex {
            let start = authority.index(after: hostEnd)
            ports = try Self.ports(authority[start...], at: offset(start))
        }
        let host = authority[..<hostEnd]
        guard !host.isEmpty else {
            let hint = pathStart < rest.endIndex ? "; any host is `**`: `**\(rest)`" : ""
            throw PatternProblem("a host is missing\(hint)", at: offset(rest.startIndex))
        }
        if host != "*", host != "**" {
            hosts = [
                try Self.shifting(by: offset(rest.startIndex)) { () throws(PatternProblem) in
                    try HostPattern(String(host))
                }
            ]
        }
        if pathStart < rest.endIndex {
            paths = [
                try Self.shifting(by: offset(pathStart)) { () throws(PatternProblem) in
                    try PathPattern(glob: String(rest[pathStart...]))
                }
            ]
        }
    }

    private static func scheme(_ name: Substring) throws(PatternProblem) -> Scheme {
        switch name.lowercased() {
        case "http": return .http
        case "https": return .https
        default: throw PatternProblem("`\(name)` is no scheme; write `http` or `https`", at: 0)
        }
    }

    /// Returns the colon before the port, or the end.
    ///
    /// Colons in brackets, or in an address without brackets, belong to the address.
    private static func endOfHost(_ authority: Substring) -> Substring.Index {
        guard IPAddress(String(authority)) == nil, let colon = authority.lastIndex(of: ":"),
            !authority.hasPrefix("[") || authority[..<colon].hasSuffix("]")
        else { return authority.endIndex }
        return colon
    }

    /// Parses a port, a range `8000-8099`, or `*`.
    private static func ports(_ text: Substring, at offset: Int) throws(PatternProblem) -> PortSet?
    {
        if text == "*" { return nil }
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
            UInt16(truncatingIfNeeded: NumberReader.unsigned(part, max: 65535) ?? 0)
        }
        guard let low = numbers.first, let high = numbers.last, numbers.count <= 2,
            low > 0, low <= high
        else { throw PatternProblem("`\(text)` is no port from 1 to 65535", at: offset) }
        return PortSet([low...high])
    }

    private static func shifting<Pattern>(
        by count: Int,
        _ body: () throws(PatternProblem) -> Pattern
    ) throws(PatternProblem) -> Pattern {
        do throws(PatternProblem) { return try body() } catch { throw error.shifted(by: count) }
    }
}
