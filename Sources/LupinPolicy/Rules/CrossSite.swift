// Which pages a browser says a request comes from, and which of them may use what a rule attaches.

package import LupinCore

/// A page that is not of the origin that its request asks.
package enum ForeignPage: Sendable, Hashable {
    /// A page of this origin.
    case origin(Origin)
    /// What the browser calls it is no origin of http or https: `null`, or an extension's.
    case other(String)
    /// The browser names no page, or contradicts itself.
    case unnamed

    /// For users: `a page of https://app.example`.
    package var text: String {
        switch self {
        case .origin(let origin): "a page of \(origin.scheme.name)://\(origin.authority)"
        case .other(let name): "a page of \"\(LogText.plain(String(name.prefix(100))))\""
        case .unnamed: "a page of another site"
        }
    }
}

extension RequestHead {
    /// The pages of other origins that a browser says the request comes from.
    ///
    /// Every mark of another site counts, and so does a mark that can't be understood: a page can't
    /// forge these fields, but it can choose where a request goes and which of them are left out.
    /// A request without marks is no page's.
    ///
    /// - Parameters:
    ///   - target: The origin that the request asks.
    ///   - first: The origin that the client asked; a redirect that lupin followed led from there
    ///     to `target`.
    /// - Returns: None for a request without marks, or of the target's own pages.
    package func foreignPages(at target: Origin, first: Origin) -> [ForeignPage] {
        let marks = PageMarks(fields)
        var pages: [ForeignPage] = []
        func add(_ page: ForeignPage) {
            if page != .origin(target), !pages.contains(page) { pages.append(page) }
        }
        marks.origins.forEach(add)
        switch marks.site {
        case .none where marks.origins.isEmpty:
            guard marks.isBrowser else { break }
            // A page of a plain http origin sends no such field, and reads what comes back.
            marks.referers.forEach(add)
            add(.origin(first))
        case .none: break
        case .user: add(.origin(first))
        case .same: add(.origin(first))
        case .other:
            // A page without an Origin, such as that of a link, is named by Referer.
            if marks.origins.isEmpty { marks.referers.forEach(add) }
            if pages.isEmpty { pages = [.unnamed] }
        }
        return pages
    }
}

/// What the fields of a request say of the page that it comes from.
private struct PageMarks {
    /// `Sec-Fetch-Site` (W3C Fetch Metadata).
    enum Site {
        case none
        /// The user asked, by the address bar or a bookmark.
        case user
        case same
        /// Another site, or a value that says nothing certain.
        case other
    }

    private(set) var site = Site.none
    /// Those of `Origin`; a browser sends one at most.
    private(set) var origins: [ForeignPage] = []
    private(set) var referers: [ForeignPage] = []
    /// Whether the client calls itself a browser.
    private(set) var isBrowser = false

    init(_ fields: FieldSection) {
        for line in fields.lines {
            let name = fields.storage.span.extracting(line.name.range)
            switch line.known {
            case .referer: referers.append(Self.page(fields.text(line.value), isURL: true))
            case .userAgent:
                let value = fields.storage.span.extracting(line.value.range)
                isBrowser = isBrowser || value.begins(ignoringCase: "mozilla/")
            case .other where name.begins(ignoringCase: "sec-ch-ua"): isBrowser = true
            case .other where name.equals(ignoringCase: "sec-fetch-site"):
                let value = Self.site(fields.text(line.value))
                // Two fields are one too many, whatever they say.
                site = site == .none ? value : .other
            case .other where name.equals(ignoringCase: "origin"):
                let page = Self.page(fields.text(line.value), isURL: false)
                origins.append(origins.isEmpty ? page : .unnamed)
            default: break
            }
        }
    }

    private static func site(_ value: String) -> Site {
        switch value {
        case "none": .user
        case "same-origin": .same
        default: .other
        }
    }

    /// The page of `Origin` (RFC 6454 §7), or of the URL of `Referer`.
    private static func page(_ text: String, isURL: Bool) -> ForeignPage {
        guard let marker = text.firstRange(of: "://") else { return .other(text) }
        let isOrigin = !text[marker.upperBound...].contains { "/?#".contains($0) }
        guard let url = HTTPURL(text), isOrigin || isURL else { return .other(text) }
        return .origin(url.origin)
    }
}

extension Span where Element == UInt8 {
    fileprivate func begins(ignoringCase text: String) -> Bool {
        let count = text.utf8.count
        return self.count >= count
            && extracting(first: count).equalsIgnoringCase(text.utf8Span.span)
    }

    fileprivate func equals(ignoringCase text: String) -> Bool {
        equalsIgnoringCase(text.utf8Span.span)
    }
}

/// `cross_site`: the pages of other sites that may use what the rules attach.
package enum CrossSite: Sendable, Equatable {
    case any
    case pages([PagePattern])

    /// No page but those of the origin itself.
    package static let none = CrossSite.pages([])

    package func admits(_ page: ForeignPage) -> Bool {
        switch self {
        case .any: true
        case .pages(let patterns): patterns.contains { $0.matches(page) }
        }
    }
}

/// An origin whose pages are admitted, such as `https://app.example` or `https://*.app.example`.
package struct PagePattern: Sendable, Equatable {
    package let source: String
    /// nil for what is no origin of http or https, which is compared as text.
    private let origin: (scheme: Scheme, host: HostPattern, ports: PortSet?)?

    /// - Throws: What is wrong, and what to write instead.
    package init(_ text: String) throws(PatternProblem) {
        source = text
        guard let marker = text.firstRange(of: "://") else {
            throw PatternProblem(Self.advice(insteadOf: text), at: 0)
        }
        guard ["http", "https"].contains(text[..<marker.lowerBound].lowercased()) else {
            origin = nil
            return
        }
        let match = try Match(string: text)
        guard match.paths == nil else {
            let slash = text[marker.upperBound...].firstIndex(of: "/") ?? text.endIndex
            throw PatternProblem(
                "an origin has no path; write `\(text[..<slash])`",
                at: text.distance(from: text.startIndex, to: slash)
            )
        }
        guard let scheme = match.schemes?.first, let host = match.hosts?.first else {
            throw PatternProblem("any host is too many; \(Self.anyAdvice)", at: 0)
        }
        let port = scheme.defaultPort
        let isAnyPort = text.hasSuffix(":*")
        origin = (scheme, host, match.ports ?? (isAnyPort ? nil : PortSet([port...port])))
    }

    private static let anyAdvice = "write `cross_site: any`, alone"

    /// What is wrong with a text without scheme; words that mean something are no hosts.
    private static func advice(insteadOf text: String) -> String {
        switch text {
        case "any", "*": "`\(text)` is no origin; \(anyAdvice)"
        case "null": "pages without an origin need `any`; \(anyAdvice)"
        case "none", "off", "false", "no": "without `cross_site` no page is admitted; leave it out"
        default: "an origin begins with its scheme; write `https://\(text)`"
        }
    }

    fileprivate func matches(_ page: ForeignPage) -> Bool {
        switch page {
        case .origin(let page):
            guard let origin else { return false }
            return origin.scheme == page.scheme && origin.host.matches(page.host)
                && origin.ports?.contains(page.port) ?? true
        case .other(let name): return origin == nil && name == source
        case .unnamed: return false
        }
    }

    package static func == (a: Self, b: Self) -> Bool { a.source == b.source }
}
