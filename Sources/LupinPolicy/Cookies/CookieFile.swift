// The file format of a jar: Netscape's cookies.txt, which curl and other programs use.

import LupinCore

/// The text of a cookie file.
///
/// A line has seven fields separated by tabs: host, whether subdomains are included, path, whether
/// the cookie is Secure, its expiry in seconds since 1970 (0 for a session cookie), name, value.
/// `#HttpOnly_` before the host means HttpOnly; every other line that begins with `#` is a comment.
/// The format has no field for SameSite, and no place for a cookie without a name or with a tab in
/// it: `#Lupin_` before such a line means that tabs and `%` in its fields are percent-encoded and
/// that the name may be empty. To other programs that is a comment.
package enum CookieFile {
    /// Longer files are refused unread, and no longer file is written.
    package static let bytesMax = 4 << 20

    /// Why a file is not used.
    package enum Problem: Error, Sendable, Equatable {
        case tooLong
    }

    /// The content of a file.
    package struct Contents: Sendable {
        package var jar = CookieJar()
        /// The numbers of invalid lines, from 1; at most ``linesNamedMax`` are listed.
        package var badLines: [Int] = []
        /// The number of invalid lines.
        package var badLinesCount = 0
        /// Cookies of a domain that were restricted to its host.
        package var narrowed = 0
        /// Cookies beyond the jar's limits.
        package var leftOut = 0
    }

    /// The most invalid lines listed by number.
    package static let linesNamedMax = 20
    private static let mark = Array("#HttpOnly_".utf8)
    private static let ownMark = Array("#Lupin_".utf8)
    private static let preface = """
        # Netscape HTTP Cookie File
        # Written by lupin; changes made while it runs are lost.

        """

    // MARK: Reading

    /// Parses a file; invalid lines are skipped and counted, expired cookies are just skipped.
    ///
    /// A cookie of a whole domain is kept for the host of that name only: a narrower use than the
    /// file allows. As when a server sets one, no cookie lives longer than 400 days from now.
    /// - Throws: `tooLong`.
    package static func read(_ bytes: Span<UInt8>, now: Int64) throws(Problem) -> Contents {
        guard bytes.count <= bytesMax else { throw .tooLong }
        var contents = Contents()
        var entries: [Entry] = []
        var number = 0
        var start = bytes.byteOrderMark
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            number += 1
            let isCRLF = end > start && bytes[end - 1] == 0x0D
            var line = [UInt8](copying: bytes.extracting(start..<(isCRLF ? end - 1 : end)))
            start = end + 1
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
            let isOwn = line.starts(with: ownMark)
            if isOwn { line.removeFirst(ownMark.count) }
            let isMarked = line.starts(with: mark)
            if line.first == 0x23, !isMarked, !isOwn { continue }
            let rest = line[(isMarked ? mark.count : 0)...]
            guard let entry = entry(rest, isHTTPOnly: isMarked, isOwn: isOwn, now: now) else {
                contents.badLinesCount += 1
                if contents.badLines.count < linesNamedMax { contents.badLines.append(number) }
                continue
            }
            if !entry.cookie.isExpired(at: now) { entries.append(entry) }
        }
        // Beyond the limit the last lines are kept, as they are the newest.
        contents.leftOut = max(0, entries.count - CookieJar.cookiesMax)
        for entry in entries.dropFirst(contents.leftOut) {
            if entry.isOfDomain { contents.narrowed += 1 }
            _ = contents.jar.insert(entry.cookie, for: entry.host, now: now)
        }
        return contents
    }

    private struct Entry {
        var host: Host
        var isOfDomain: Bool
        var cookie: Cookie
    }

    /// Parses the cookie of one line, without its prefixes; nil if it is invalid.
    private static func entry(
        _ line: ArraySlice<UInt8>,
        isHTTPOnly: Bool,
        isOwn: Bool,
        now: Int64
    ) -> Entry? {
        guard isText(line) else { return nil }
        var fields = OctetText.text(Array(line)).split(
            separator: "\t",
            omittingEmptySubsequences: false
        ).map(String.init)
        // Some editors trim lines: an empty value may lack the tab before it.
        if fields.count == 6 { fields.append("") }
        if isOwn { fields = fields.compactMap(decoded) }
        guard fields.count == 7, let isOfDomain = flag(fields[1]), let isSecure = flag(fields[3]),
            let host = Host(fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]),
            fields[2].hasPrefix("/"), fields[2].utf8.count <= SetCookie.attributeBytesMax,
            let end = seconds(fields[4]), !fields[5].isEmpty || (isOwn && !fields[6].isEmpty),
            OctetText.bytes(fields[5] + fields[6]).count <= SetCookie.pairBytesMax,
            isPair(name: fields[5], value: fields[6])
        else { return nil }
        let limit = now.addingSaturated(SetCookie.lifetimeMax)
        let problem = Cookie.prefixProblem(
            name: fields[5],
            value: fields[6],
            isSecure: isSecure,
            isBoundToHostAndRoot: !isOfDomain && fields[2] == "/"
        )
        guard problem == nil else { return nil }
        let cookie = Cookie(
            name: fields[5],
            value: fields[6],
            path: fields[2],
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            expiry: end == 0 ? nil : min(end, limit)
        )
        return Entry(host: host, isOfDomain: isOfDomain, cookie: cookie)
    }

    /// A field of a line of lupin's own; nil if it is invalid.
    private static func decoded(_ field: String) -> String? {
        guard let bytes = OctetText.bytes(field).span.percentDecoded, isText(bytes[...]) else {
            return nil
        }
        return OctetText.text(bytes)
    }

    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    /// Whether a Cookie field would return both unchanged.
    private static func isPair(name: String, value: String) -> Bool {
        !name.utf8.contains { $0 == 0x3B || $0 == 0x3D } && !value.utf8.contains(0x3B)
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }

    /// Parses digits; larger numbers saturate.
    private static func seconds(_ text: String) -> Int64? {
        // Bounded: by the largest that fits.
        NumberReader.saturated(Array(text.utf8).span, at: UInt64(Int64.max)).map { Int64($0) }
    }

    // MARK: Writing

    /// The text of the jar's persistent cookies, in order of creation.
    ///
    /// The least recently used cookies are left out if the file would be too long.
    package static func text(of jar: CookieJar, now: Int64) -> (bytes: [UInt8], leftOut: Int) {
        var lines: [(text: [UInt8], cookie: Cookie)] = []
        var total = preface.utf8.count
        for (host, cookie) in jar.all where !cookie.isExpired(at: now) {
            guard let expiry = cookie.expiry else { continue }
            let line = line(cookie, of: host, until: expiry)
            total += line.count
            lines.append((line, cookie))
        }
        var gone: Set<UInt64> = []
        for (text, cookie) in lines.sorted(by: { $0.cookie.isLessUsed(than: $1.cookie) }) {
            guard total > bytesMax else { break }
            gone.insert(cookie.created)
            total -= text.count
        }
        var bytes = Array(preface.utf8)
        bytes.reserveCapacity(total)
        for (text, cookie) in lines where !gone.contains(cookie.created) { bytes += text }
        return (bytes, gone.count)
    }

    private static func line(_ cookie: Cookie, of host: Host, until expiry: Int64) -> [UInt8] {
        var fields = [
            host.text, "FALSE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE", "\(expiry)",
            cookie.name, cookie.value,
        ]
        let isOwn = cookie.name.isEmpty || fields.contains { $0.utf8.contains(0x09) }
        if isOwn {
            fields = fields.map { $0.replacing("%", with: "%25").replacing("\t", with: "%09") }
        }
        let text = OctetText.bytes(fields.joined(separator: "\t"))
        return (isOwn ? ownMark : []) + (cookie.isHTTPOnly ? mark : []) + text + [0x0A]
    }
}
