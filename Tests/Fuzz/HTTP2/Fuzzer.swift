// One iteration of the fuzzer: mutated frames, read by both roles in several cuts.
import LupinWire

/// SplitMix64: deterministic and good enough to choose mutations.
struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}

struct Fuzzer {
    private var generator: Generator
    private let requests = Frames(Corpus.requests())
    private let responses = Frames(Corpus.responses())
    private(set) var events = 0
    private(set) var ended = 0

    init(seed: UInt64) { generator = Generator(state: seed) }

    /// Runs one sample and returns what is wrong, if anything.
    mutating func iterate() -> String? {
        let role: HTTP2Connection.Role = generator.below(2) == 0 ? .server : .client
        let sample = mutate(role == .server ? requests : responses)
        let whole = read([sample[...]], role)
        events += whole.events.count
        if whole.isOver { ended += 1 }
        for cut in [sample.indices.map { sample[$0...$0] }, randomCut(sample)] {
            let other = read(cut, role)
            if other.isMiscounted || whole.isMiscounted { continue }
            if other.settled != whole.settled {
                let pieces = cut.count == sample.count ? "bytewise" : "as \(cut.map(\.count))"
                return "\(role) \(pieces): \(other) but whole: \(whole) of \(sample)"
            }
        }
        return nil
    }

    private mutating func randomCut(_ sample: [UInt8]) -> [ArraySlice<UInt8>] {
        var cut: [ArraySlice<UInt8>] = []
        var start = 0
        while start < sample.count {
            let end = min(sample.count, start + 1 + generator.below(40))
            cut.append(sample[start..<end])
            start = end
        }
        return cut
    }

    /// Changes whole frames first, so that most of what follows is still read, then single bytes.
    private mutating func mutate(_ seed: Frames) -> [UInt8] {
        var frames = seed.frames
        for _ in 0..<generator.below(4) {
            let index = generator.below(frames.count)
            switch generator.below(7) {
            case 0: frames.remove(at: index)
            case 1: frames.insert(frames[index], at: generator.below(frames.count + 1))
            case 2: frames.swapAt(index, generator.below(frames.count))
            case 3: frames[index][3] = UInt8(generator.below(11))
            case 4: frames[index][4] ^= 1 << UInt8(generator.below(8))
            case 5: frames[index][8] = UInt8(generator.below(12))
            default: frames[index] = resized(frames[index])
            }
            if frames.isEmpty { frames = seed.frames }
        }
        var sample = seed.beginning + frames.joined()
        for _ in 0..<generator.below(3) {
            let index = generator.below(sample.count)
            switch generator.below(4) {
            case 0: sample[index] ^= 1 << UInt8(generator.below(8))
            case 1: sample[index] = UInt8(truncatingIfNeeded: generator.next())
            case 2: sample.removeSubrange(index...)
            default: sample.insert(UInt8(truncatingIfNeeded: generator.next()), at: index)
            }
            if sample.isEmpty { return seed.beginning }
        }
        return sample
    }

    /// A frame whose payload was cut or filled, with a length that says so.
    private mutating func resized(_ frame: [UInt8]) -> [UInt8] {
        var payload = Array(frame.dropFirst(9).prefix(generator.below(frame.count)))
        for _ in 0..<generator.below(6) {
            payload.append(UInt8(truncatingIfNeeded: generator.next()))
        }
        return [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + frame[3..<9] + payload
    }
}

/// A stream of frames, apart.
struct Frames {
    private(set) var beginning: [UInt8] = []
    private(set) var frames: [[UInt8]] = []

    init(_ wire: [UInt8]) {
        var rest = wire[...]
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        if rest.starts(with: preface) {
            beginning = preface
            rest = rest.dropFirst(preface.count)
        }
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            frames.append(Array(rest.prefix(9 + length)))
            rest = rest.dropFirst(9 + length)
        }
    }
}
