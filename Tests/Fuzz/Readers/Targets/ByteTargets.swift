// Binary forms: the beginning of TLS, certificates and what is said of them.
import LupinCore
import LupinTLS

enum ByteTargets {
    static let all = [clientHello, der, certificate, revocation]

    private static let hello =
        "\u{16}\u{3}\u{1}\0\u{45}\u{1}\0\0\u{41}\u{3}\u{3}"
        + String(repeating: "r", count: 32) + "\0\0\u{2}\u{13}\u{1}\u{1}\0\0\u{16}"
        + "\0\0\0\u{A}\0\u{8}\0\0\u{5}a.dev\0\u{10}\0\u{4}\0\u{2}\u{1}h"

    static let clientHello = FuzzTarget(
        "client-hello",
        seeds: [
            hello, "\u{16}\u{3}\u{1}\u{40}\0", "GET / HTTP/1.1\r\n", "\u{80}\u{2E}\u{1}\u{3}\u{1}",
        ],
        words: ["\u{16}\u{3}\u{1}", "\0\u{10}", "\u{FF}\u{FF}", "\0\0", "\u{3}\u{4}"]
    ) { input in
        let whole = ClientHello.parse(input.span)
        if case .needsMore = whole {
            for count in input.indices where count > 0 {
                let part = ClientHello.parse(input.span.extracting(0..<count))
                try hold(part == .needsMore, "a part needs more, too")
            }
        } else {
            let more = ClientHello.parse((input + [0, 0]).span)
            try hold(more == whole, "what follows changes nothing")
        }
        return String("\(whole)".prefix { $0 != "(" })
    }

    static let der = FuzzTarget(
        "der",
        seeds: [
            "0\u{3}\u{2}\u{1}\u{5}", "0\u{81}\u{80}", "\u{A0}\u{2}0\0",
            "\u{30}\u{83}\u{FF}\u{FF}\u{FF}",
        ],
        words: ["0\u{82}", "\u{2}\u{1}", "\u{84}\u{FF}\u{FF}\u{FF}\u{FF}", "\u{9F}", "0\0"]
    ) { input in
        var count = 0
        var depth = 0
        var level = [DERReader(input)]
        while !level.isEmpty, depth < 8 {
            var inner: [DERReader] = []
            for var reader in level.prefix(64) {
                while let value = reader.next() {
                    count += 1
                    try hold(value.contents.count <= input.count, "a value lies in the input")
                    if value.tag & 0x20 != 0 { inner.append(DERReader(value.contents)) }
                }
            }
            level = inner
            depth += 1
        }
        return "values \(size(count)) depth \(size(depth))"
    }

    /// A certificate, in DER or in text.
    static let certificate = FuzzTarget(
        "certificate",
        seeds: [
            "0\u{82}\u{1}\u{22}",
            "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n",
        ],
        words: [
            "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n", "MAMCAQE=",
            "\u{17}\u{D}991231235959Z", "\u{18}\u{F}99991231235959Z", "0\u{82}",
        ],
        roundsInTests: 60
    ) { input in
        let one = try? Certificate.parse(der: input)
        let all = try? Certificate.parseAll(pem: input.span)
        if let one {
            try hold(one.der.count <= input.count, "a certificate lies in the input")
            _ = (one.notBefore, one.notAfter)
        }
        return "\(told(one)) \(size(all?.count ?? -1))"
    }

    static let revocation = FuzzTarget(
        "revocation",
        seeds: [
            "0\u{3}\u{A}\u{1}\u{1}", "0\u{5}\u{A}\u{1}\0\u{A0}\0",
            "0\u{1E}0\u{17}\u{2}\u{1}\u{1}0\05\0\u{17}\u{D}991231235959Z",
        ],
        words: ["\u{17}\u{D}", "\u{18}\u{F}99991231235959Z", "0\u{82}", "\u{A}\u{1}\0"],
        roundsInTests: 60
    ) { input in
        var words: [String] = []
        for kind in [RevocationQuery.Kind.ocsp, .crl] {
            for now in [0, 1_795_348_800, .min, .max] as [Int64] {
                let end = RevocationCheck.validUntil(input, kind, now: now)
                if now == 0 { words.append(told(end)) }
            }
        }
        return words.joined(separator: " ")
    }
}
