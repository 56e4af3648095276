// Other fields: dates, waits, cookies, challenges, media types.
import LupinCore
import LupinPolicy

enum FieldTargets {
    static let all = [date, retryAfter, setCookie, cookieDate, cookieFile, challenges, media]

    static let date = FuzzTarget(
        "http-date",
        seeds: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "Fri, 31 Dec 9999 23:59:60 GMT",
        ],
        words: ["GMT", "Feb", "29", "Saturday", "9999", "0000"]
    ) { input in
        var outcome = "nil"
        for now in [0, 1_795_348_800, .min, .max] as [Int64] {
            guard let seconds = HTTPDate.seconds(of: input.span, now: now) else { continue }
            let text = HTTPDate.text(seconds)
            try hold(
                HTTPDate.seconds(of: text, now: now) == seconds,
                "a moment is the same in the other form: \(text)"
            )
            outcome = "some \(size(input.count))"
        }
        return outcome
    }

    static let retryAfter = FuzzTarget(
        "retry-after",
        seeds: ["120", "0", "Sun, 06 Nov 1994 08:49:37 GMT", "1, 2"]
    ) { input in
        var outcome = "nil"
        for now in [0, 784_111_777_000_000, .min, .max] as [Int64] {
            guard let delay = RetryAfterField.delay(of: section("Retry-After", input), now: now)
            else { continue }
            try hold(
                delay >= .zero && delay <= RetryAfterField.delayMax,
                "a wait lies between nothing and ten years"
            )
            outcome = delay == .zero ? "none" : "some"
        }
        return outcome
    }

    static let setCookie = FuzzTarget(
        "set-cookie",
        seeds: [
            "a=b; Path=/; Domain=.x.dev; Max-Age=5; Secure; HttpOnly; SameSite=Lax",
            "a=b; expires=Wed, 21-Oct-2015 07:28:00 GMT", "=b", "a", "__Host-a=b; Path=/; Secure",
        ],
        words: ["; ", "Max-Age=", "Expires=", "Domain=", "Path=", "SameSite=", "__Secure-"]
    ) { input in
        let cookie: SetCookie
        do {
            cookie = try SetCookie(parsing: input.span)
        } catch {
            return "\(error)"
        }
        try hold(
            cookie.name.utf8.count + cookie.value.utf8.count <= SetCookie.pairBytesMax,
            "a pair is no longer than allowed"
        )
        for now in [0, 1_795_348_800, .min, .max] as [Int64] {
            guard let end = cookie.expiry(at: now) else { continue }
            try hold(
                end <= now.addingSaturated(SetCookie.lifetimeMax),
                "nothing is kept for longer than 400 days"
            )
        }
        return "age \(told(cookie.maxAge)) end \(told(cookie.expires)) \(told(cookie.domain))"
    }

    static let cookieDate = FuzzTarget(
        "cookie-date",
        seeds: ["Wed, 21-Oct-2015 07:28:00 GMT", "7:2:9 1 feb 70", "31 dec 9999 23:59:59"],
        words: ["jan", "feb", "29", "1601", "69", "70", ":"]
    ) { input in
        guard let seconds = CookieDate.seconds(input.span) else { return "nil" }
        try hold(
            (-11_644_473_600...253_402_300_799).contains(seconds),
            "a date is one of 1601 to 9999"
        )
        return "some"
    }

    static let cookieFile = FuzzTarget(
        "cookie-file",
        seeds: [
            "# Netscape HTTP Cookie File\n.a.dev\tTRUE\t/\tFALSE\t0\ta\tb\n",
            "#HttpOnly_a.dev\tFALSE\t/x\tTRUE\t99999999999999999999\ta\tb\n\nbad\n",
        ],
        words: ["\tTRUE\t", "\tFALSE\t", "#HttpOnly_", "\t/\t", "a.dev"]
    ) { input in
        var outcome = ""
        for now in [0, 1_795_348_800, .max - 5] as [Int64] {
            let contents: CookieFile.Contents
            do {
                contents = try CookieFile.read(input.span, now: now)
            } catch {
                return "\(error)"
            }
            let written = CookieFile.text(of: contents.jar, now: now)
            let again = try CookieFile.read(written.bytes.span, now: now)
            try hold(
                CookieFile.text(of: again.jar, now: now).bytes == written.bytes,
                "what is written is read as it was"
            )
            try hold(again.badLinesCount == 0, "nothing bad is written")
            outcome = "cookies \(size(contents.jar.all.count)) bad \(size(contents.badLinesCount))"
        }
        return outcome
    }

    static let challenges = FuzzTarget(
        "challenges",
        seeds: [
            "Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"b\", qop=\"auth\", algorithm=SHA-256",
            "Negotiate YWI=, Bearer error=\"insufficient_scope\", Basic", "NTLM",
        ],
        words: ["Basic ", "Digest ", "Bearer ", "realm=", "nonce=\"b\"", "stale=true", "qop=auth"]
    ) { input in
        let fields = section("WWW-Authenticate", input)
        let all = AuthenticationChallenge.challenges(in: text(input))
        _ = AuthenticationChallenge.parameters(in: text(input))
        let value = fields.value(of: .wwwAuthenticate) ?? ""
        try hold(
            AuthenticationChallenge.challenges(in: fields)
                == AuthenticationChallenge.challenges(in: value),
            "a field says what its value says"
        )
        let digest = DigestChallenge.best(all)
        return "challenges \(size(all.count)) digest \(told(digest))"
    }

    static let media = FuzzTarget(
        "media-range",
        seeds: [
            "text/html; charset=utf-8", "*/*;q=0.5", "application/*;a=\"b\\\"c\"", "a/b, c/d;q=1",
        ],
        words: ["text/", "*/*", ";q=", "charset=", "\"a\""]
    ) { input in
        let accepted = MediaRange("text/html").map {
            MediaRange.isAccepted($0, by: section("Accept", input))
        }
        _ = ErrorBody.Form(acceptedBy: section("Accept", input))
        guard let media = MediaRange(parsing: input.span) else { return "nil \(accepted == true)" }
        if !media.isRange { try hold(media.contains(media), "a type contains itself") }
        return "some \(media.isRange) \(accepted == true)"
    }
}
