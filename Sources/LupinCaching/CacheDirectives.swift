// Parses Cache-Control in requests and responses (RFC 9111 §5.2), and Pragma (§5.4).

package import LupinCore

/// The directives that govern how a cache handles a response.
///
/// Of repeated directives with seconds the first one counts (§4.2.1). Of a directive with and one
/// without an argument the latter counts, since it restricts more. An invalid lifetime is 0: §4.2.1
/// treats the response as stale. An invalid argument voids a permission, but not a prohibition.
package struct ResponseDirectives: Sendable, Equatable {
    /// Directives that are present or not.
    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let noStore = Flags(rawValue: 1 << 0)
        /// Without field names; the same applies to `private`.
        package static let noCache = Flags(rawValue: 1 << 1)
        package static let `private` = Flags(rawValue: 1 << 2)
        package static let `public` = Flags(rawValue: 1 << 3)
        package static let mustRevalidate = Flags(rawValue: 1 << 4)
        package static let proxyRevalidate = Flags(rawValue: 1 << 5)
        package static let mustUnderstand = Flags(rawValue: 1 << 6)
        package static let noTransform = Flags(rawValue: 1 << 7)
        /// RFC 8246.
        package static let immutable = Flags(rawValue: 1 << 8)
    }

    package var flags: Flags = []
    /// Seconds, as all of these; 0 when the number is invalid.
    package var maxAge: Int64?
    package var sMaxAge: Int64?
    /// RFC 5861; nil when the number is invalid.
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    /// The field names in `no-cache="…"`, in lower case.
    package var noCacheFields: [String] = []
    package var privateFields: [String] = []
    /// They come from a targeted field, so Cache-Control and Expires are ignored (RFC 9213 §2.2).
    package var isTargeted = false

    package init() {}

    /// Parses Cache-Control.
    package init(cacheControlOf fields: FieldSection) {
        guard fields.names.contains(.cacheControl) else { return }
        for line in fields.lines where line.known == .cacheControl {
            let text = fields.storage.span.extracting(line.value.range)
            var position = 0
            while let directive = CacheDirective.next(in: text, from: &position) {
                take(directive, in: text)
            }
        }
    }

    /// The directives for a cache that honours `targeted` fields; the first valid one counts.
    package init(_ fields: FieldSection, targeted: [String]) {
        for name in targeted {
            if let directives = ResponseDirectives(targeted: name, of: fields) {
                self = directives
                return
            }
        }
        self.init(cacheControlOf: fields)
    }

    private mutating func take(_ directive: CacheDirective, in text: Span<UInt8>) {
        let name = text.extracting(directive.name)
        guard let kind = ResponseDirectives.kind(of: name) else { return }
        switch kind {
        case .flag(let flag, let isPermission):
            if !isPermission || directive.argument == .none { flags.insert(flag) }
        case .fields(let flag):
            let names = directive.fieldNames(in: text)
            if names.isEmpty { flags.insert(flag) } else { add(names, to: flag) }
        case .seconds(let number): take(directive.seconds(in: text), as: number)
        }
    }

    /// The first of several counts, and an invalid lifetime is 0.
    mutating func take(_ seconds: Int64?, as number: Number) {
        switch number {
        case .maxAge: maxAge = maxAge ?? seconds ?? 0
        case .sMaxAge: sMaxAge = sMaxAge ?? seconds ?? 0
        case .staleWhileRevalidate: staleWhileRevalidate = staleWhileRevalidate ?? seconds
        case .staleIfError: staleIfError = staleIfError ?? seconds
        }
    }

    mutating func add(_ names: [String], to flag: Flags) {
        if flag == .noCache { noCacheFields += names } else { privateFields += names }
    }

    // MARK: Names

    /// The type of a known directive.
    enum Kind {
        case flag(Flags, isPermission: Bool)
        case fields(Flags)
        case seconds(Number)
    }

    enum Number { case maxAge, sMaxAge, staleWhileRevalidate, staleIfError }

    /// The type of the directive called `name`, in any case; the length distinguishes most of them.
    static func kind(of name: Span<UInt8>) -> Kind? {
        switch name.count {
        case 6: name.isWord("public") ? .flag(.public, isPermission: true) : nil
        case 7:
            name.isWord("max-age")
                ? .seconds(.maxAge) : name.isWord("private") ? .fields(.private) : nil
        case 8:
            name.isWord("no-store")
                ? .flag(.noStore, isPermission: false)
                : name.isWord("no-cache")
                    ? .fields(.noCache) : name.isWord("s-maxage") ? .seconds(.sMaxAge) : nil
        case 9: name.isWord("immutable") ? .flag(.immutable, isPermission: true) : nil
        case 12: name.isWord("no-transform") ? .flag(.noTransform, isPermission: false) : nil
        case 14: name.isWord("stale-if-error") ? .seconds(.staleIfError) : nil
        case 15:
            name.isWord("must-revalidate")
                ? .flag(.mustRevalidate, isPermission: false)
                : name.isWord("must-understand")
                    ? .flag(.mustUnderstand, isPermission: true) : nil
        case 16:
            name.isWord("proxy-revalidate") ? .flag(.proxyRevalidate, isPermission: false) : nil
        case 22:
            name.isWord("stale-while-revalidate") ? .seconds(.staleWhileRevalidate) : nil
        default: nil
        }
    }
}

/// The directives of a request (RFC 9111 §5.2.1).
///
/// An invalid max-age demands validation; other invalid seconds are ignored.
package struct RequestDirectives: Sendable, Equatable {
    package var isNoCache = false
    package var isNoStore = false
    package var isOnlyIfCached = false
    package var isNoTransform = false
    /// Seconds, as all of these.
    package var maxAge: Int64?
    package var minFresh: Int64?
    /// `DeltaSeconds.max` when the client accepts any stale response.
    package var maxStale: Int64?
    /// RFC 5861 §4.
    package var staleIfError: Int64?

    package init() {}

    /// Parses Cache-Control, or Pragma when there is none.
    package init(_ fields: FieldSection) {
        guard fields.names.contains(.cacheControl), fields.first(.cacheControl) != nil else {
            isNoCache = fields.hasPragmaNoCache
            return
        }
        for line in fields.lines where line.known == .cacheControl {
            let text = fields.storage.span.extracting(line.value.range)
            var position = 0
            while let directive = CacheDirective.next(in: text, from: &position) {
                take(directive, in: text)
            }
        }
    }

    private mutating func take(_ directive: CacheDirective, in text: Span<UInt8>) {
        let name = text.extracting(directive.name)
        switch name.count {
        case 7 where name.isWord("max-age"):
            maxAge = maxAge ?? directive.seconds(in: text) ?? 0
        case 8 where name.isWord("no-cache"): isNoCache = true
        case 8 where name.isWord("no-store"): isNoStore = true
        case 9 where name.isWord("min-fresh"):
            minFresh = minFresh ?? directive.seconds(in: text)
        case 9 where name.isWord("max-stale"):
            let isAny = directive.argument == .none
            maxStale = maxStale ?? (isAny ? DeltaSeconds.max : directive.seconds(in: text))
        case 12 where name.isWord("no-transform"): isNoTransform = true
        case 14 where name.isWord("only-if-cached"): isOnlyIfCached = true
        case 14 where name.isWord("stale-if-error"):
            staleIfError = staleIfError ?? directive.seconds(in: text)
        default: break
        }
    }
}

extension FieldSection {
    /// Whether an HTTP/1.0 client demands validation (§5.4).
    fileprivate var hasPragmaNoCache: Bool {
        for line in lines where line.known == .other && line.name.count == 6 {
            guard storage.span.extracting(line.name.range).isWord("pragma") else { continue }
            let text = storage.span.extracting(line.value.range)
            var position = 0
            while let directive = CacheDirective.next(in: text, from: &position) {
                if text.extracting(directive.name).isWord("no-cache") { return true }
            }
        }
        return false
    }
}
