// Secrets in bodies are masked, wherever the pieces of the body begin and end.
import LupinCore
import Testing

/// A mask that knows two secrets, and what it makes of bodies.
enum Masks {
    static let bearer = "b3arer/S3cret+one"
    static let password = "pa55 w0rd\"two"

    private static let secrets: BodySecrets = {
        var settings = RedactionSettings()
        settings.json = ["x_pin"]
        return BodySecrets(
            Redactor(settings: settings, secrets: [bearer, password], digest: { _ in 0xABCD })
        )
    }()

    static func mask(stepBytes: Int = 64 << 10) -> BodyMask {
        BodyMask(secrets, stepBytes: stepBytes)
    }

    static let mark = "REDACTED.abcd"

    /// What is kept of a body that comes in these pieces.
    static func kept(_ pieces: [[UInt8]], flushes: Bool = false, stepBytes: Int = 64 << 10)
        -> String
    {
        var mask = mask(stepBytes: stepBytes)
        var output: [UInt8] = []
        for piece in pieces {
            mask.mask(piece, isLast: false, into: &output)
            if flushes { mask.flush(isEventStream: false, into: &output) }
        }
        mask.mask([], isLast: true, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    static func kept(_ text: String) -> String { kept([Array(text.utf8)]) }
}

struct BodyMaskTests {
    @Test(arguments: [
        ("{\"a\":\"b3arer/S3cret+one\"}", "{\"a\":\"REDACTED.abcd\"}"),
        ("<a>b3arer%2FS3cret%2Bone</a>", "<a>REDACTED.abcd</a>"),
        (#""b3arer\/S3cret\u002bone""#, "\"REDACTED.abcd\""),
        (#""\u0062\u0033\u0061rer\/S3cret\u002Bone""#, "\"REDACTED.abcd\""),
        ("YjNhcmVyL1MzY3JldCtvbmU=", "REDACTED.abcd"),
        ("6233617265722f5333637265742b6f6e65", "REDACTED.abcd"),
        (#"{"p":"pa55 w0rd\"two"}"#, #"{"p":"REDACTED.abcd"}"#),
        ("a=pa55+w0rd%22two&b=1", "a=REDACTED.abcd&b=1"),
        (
            "https://me:you@a.example/?access_token=abc&x=1",
            "https://a.example/?access_token=REDACTED.abcd&x=1"
        ),
    ])
    func `a secret is masked in every form`(body: String, kept: String) {
        #expect(Masks.kept(body) == kept)
        let bytes = Array(body.utf8)
        #expect(Masks.kept(bytes.map { [$0] }) == kept)
        #expect(Masks.kept(bytes.map { [$0] }, flushes: true) == kept)
    }

    /// Bodies in which something to hide stands in the middle of this.
    private static let carriers: [(before: String, after: String, hidden: [String])] = [
        ("\"", "\"", [Masks.bearer]),
        ("x=", "&y", ["b3arer%2FS3cret%2Bone"]),
        ("{\"token\" : \"", "\"}", ["unknown1", "un\\u006bnown1", "un\\\"known1"]),
        ("{\"x_pin\":", ",", ["1234567", "-12.5e7"]),
        ("&password=", "&a=1", ["unknown1", "un%6bnown1"]),
        ("a\n?client_secret=", " b", ["unknown1"]),
        ("https://a.example/?x=1&sig=", "&z=1", ["unknown1"]),
        ("{\"to\\u006ben\":\"", "\"", ["unknown1"]),
        (#"{"b":"{\"token\" : \""#, #"\"}"}"#, ["unknown1", #"un\\\"known1"#]),
        (#"{"b":"{\"x_pin\":"#, #",\"c\":1}"}"#, ["1234567"]),
        (#"{"b":"{\u0022token\u0022:\u0022"#, #"\u0022}"}"#, ["unknown1"]),
    ]

    @Test(arguments: carriers)
    func `no border of pieces or of steps shows a secret`(
        carrier: (before: String, after: String, hidden: [String])
    ) {
        for hidden in carrier.hidden {
            let middle = carrier.before + hidden + carrier.after
            // A step is masked when 4 KiB more are there; of lupin's 64 KiB most are alike.
            let step = 512
            for shift in stride(from: -4, through: middle.utf8.count + 4, by: 1) {
                let filler = [UInt8](repeating: 0x2E, count: step - shift)
                let body = filler + Array(middle.utf8) + [UInt8](repeating: 0x2E, count: 5000)
                // The step ends where the held bytes are as long as it and 4 KiB.
                let cut = step + 4096
                let pieces = [Array(body[..<cut]), Array(body[cut...])]
                let kept = Masks.kept(pieces, stepBytes: step)
                #expect(!kept.contains(hidden), "\(middle) at \(shift)")
                #expect(kept.contains(Masks.mark), "\(middle) at \(shift)")
                #expect(kept.hasSuffix("." + String(repeating: ".", count: 4999)))
            }
        }
    }

    @Test(arguments: carriers)
    func `no piece that a reader may see under way shows a secret`(
        carrier: (before: String, after: String, hidden: [String])
    ) {
        for hidden in carrier.hidden {
            let middle = Array((carrier.before + hidden + carrier.after).utf8)
            // More than the 4 KiB that are held back.
            let filler = [UInt8](repeating: 0x2E, count: 4200)
            for split in 0...middle.count {
                let pieces = [filler + middle[..<split], Array(middle[split...]) + filler]
                let kept = Masks.kept(pieces, flushes: true)
                #expect(!kept.contains(hidden), "split at \(split)")
                #expect(kept.contains(Masks.mark))
            }
            // Every place where a step may end.
            for length in 4090...(4100 + middle.count) {
                let rest = [UInt8](repeating: 0x2E, count: length)
                let kept = Masks.kept([middle + rest, filler], flushes: true)
                #expect(!kept.contains(hidden), "\(length) behind")
            }
        }
    }

    @Test func `the text comes back whole, whatever its pieces are`() {
        let text = (0..<500).map { "{\"n\":\($0),\"t\":\"x\"}" }.joined(separator: "\n")
        let bytes = Array(text.utf8)
        // Steps of 2 KiB, of which 4 KiB more must be there.
        for size in [100, 2048, 6144, 6145, 20_000] {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min(bytes.count, $0 + size)])
            }
            let kept = Masks.kept(pieces, flushes: size.isMultiple(of: 8), stepBytes: 2048)
            #expect(kept == text)
        }
    }

    @Test(arguments: [
        Masks.bearer, "b3arer%2fS3cret%2Bone", "YjNhcmVyL1MzY3JldCtvbmU",
        "b3arer\\/S3cret\\u002bone", "6233617265722f5333637265742b6f6e65",
    ])
    func `where a body was cut, no beginning of a secret is left`(secret: String) {
        let bytes = Array(secret.utf8)
        for count in 4..<bytes.count {
            var mask = Masks.mask()
            var output: [UInt8] = []
            let body = Array("some text ".utf8) + bytes[..<count]
            mask.mask(body, isLast: true, isCut: true, into: &output)
            let kept = String(decoding: output, as: UTF8.self)
            #expect(kept.hasPrefix("some text "))
            #expect(!kept.contains(String(decoding: bytes[..<4], as: UTF8.self)), "\(count)")
        }
        #expect(Masks.kept("some text b3ar") == "some text b3ar")
    }

    @Test func `events are shown when they are whole`() {
        var mask = Masks.mask()
        var output: [UInt8] = []
        for piece in ["data: one\n\nda", "ta: b3arer/S3c", "ret+one\n", "\ndata"] {
            mask.mask(Array(piece.utf8), isLast: false, into: &output)
            mask.flush(isEventStream: true, into: &output)
        }
        #expect(String(decoding: output, as: UTF8.self) == "data: one\n\ndata: REDACTED.abcd\n\n")
    }

    @Test func `a value that never ends is given up, with no more than a MiB in memory`() {
        var mask = Masks.mask()
        var output: [UInt8] = []
        mask.mask(Array("{\"a\":1,\"token\":\"".utf8), isLast: false, into: &output)
        let piece = [UInt8](repeating: 0x78, count: 64 << 10)
        for _ in 0..<17 { mask.mask(piece, isLast: false, into: &output) }
        #expect(mask.isGivenUp)
        mask.mask(Array("\",\"b\":2}".utf8), isLast: true, into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "{\"a\":1,")
    }
}
