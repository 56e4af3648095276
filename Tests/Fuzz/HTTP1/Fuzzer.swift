// One iteration of the fuzzer: a mutated sample, read in several cuts, and what must hold of it.
import LupinCore
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

/// What a reader made of a sample, in comparable bytes.
enum Outcome: Equatable {
    case accepted([UInt8], rest: Int)
    case refused(MessageProblem)
    case incomplete
    /// A promise of the reader's own was broken.
    case broken(String)
}

struct Fuzzer {
    private var generator: Generator
    private let requests = Corpus.requests.map(bytes)
    private let responses = Corpus.responses.map(bytes)
    private let bodies = Corpus.bodies.map(bytes)
    private let words = Corpus.words.map(bytes)
    private(set) var accepted = 0
    private(set) var refused = 0
    private(set) var incomplete = 0

    init(seed: UInt64) { generator = Generator(state: seed) }

    /// Runs one sample and returns what is wrong, if anything.
    mutating func iterate() -> String? {
        let kind = generator.below(3)
        let sample: [UInt8]
        let read: ([ArraySlice<UInt8>]) -> Outcome
        let limits = makeLimits()
        switch kind {
        case 0:
            sample = mutate(requests)
            read = { readRequest($0, limits) }
        case 1:
            sample = mutate(responses)
            let methods: [Method] = [.get, .head, .connect]
            let method = methods[generator.below(3)]
            read = { readResponse($0, limits, method) }
        default:
            sample = mutate(bodies)
            let side: MessageSide = generator.below(2) == 0 ? .request : .response
            read = { readBody($0, limits, side) }
        }
        let whole = read([sample[...]])
        switch whole {
        case .accepted: accepted += 1
        case .refused: refused += 1
        case .incomplete: incomplete += 1
        case .broken(let what): return "\(what) in \(escaped(sample))"
        }
        for cut in [sample.indices.map { sample[$0...$0] }, randomCut(sample)] {
            let other = read(cut)
            if other != whole {
                return "cut \(cut.map(\.count)): \(other) but whole: \(whole) of \(escaped(sample))"
            }
        }
        return nil
    }

    private mutating func makeLimits() -> HTTP1Limits {
        var limits = HTTP1Limits()
        if generator.below(4) == 0 {
            limits.requestLineBytes = 16 + generator.below(32)
            limits.headerBytes = 16 + generator.below(96)
            limits.headerFields = 1 + generator.below(5)
            limits.trailerBytes = 2 + generator.below(24)
        }
        return limits
    }

    private mutating func randomCut(_ sample: [UInt8]) -> [ArraySlice<UInt8>] {
        var cut: [ArraySlice<UInt8>] = []
        var start = 0
        while start < sample.count {
            let end = min(sample.count, start + 1 + generator.below(24))
            cut.append(sample[start..<end])
            start = end
        }
        return cut
    }

    private mutating func mutate(_ seeds: [[UInt8]]) -> [UInt8] {
        var sample = seeds[generator.below(seeds.count)]
        for _ in 0..<generator.below(5) {
            let index = generator.below(sample.count + 1)
            let end = min(sample.count, index + generator.below(8))
            switch generator.below(7) {
            case 0 where index < sample.count:
                sample[index] ^= 1 << UInt8(generator.below(8))
            case 1 where index < sample.count:
                sample[index] = UInt8(truncatingIfNeeded: generator.next())
            case 2: sample.removeSubrange(index..<end)
            case 3: sample.insert(contentsOf: Array(sample[index..<end]), at: index)
            case 4: sample.insert(contentsOf: words[generator.below(words.count)], at: index)
            case 5:
                // Words that are whole lines go where lines begin.
                let word = words[generator.below(words.count)]
                if let line = sample.indices.filter({ sample[$0] == 0x0A }).randomElement(
                    using: &generator
                ) {
                    sample.insert(contentsOf: word, at: line + 1)
                }
            default:
                let other = seeds[generator.below(seeds.count)]
                let from = generator.below(other.count)
                sample.replaceSubrange(index..., with: other[from...])
            }
        }
        return sample
    }
}

/// The bytes of a text whose scalars are single bytes.
private func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

private func escaped(_ sample: [UInt8]) -> String {
    "\""
        + sample.map { byte in
            switch byte {
            case 0x0D: "\\r"
            case 0x0A: "\\n"
            case 0x22, 0x5C: "\\" + String(UnicodeScalar(byte))
            case 0x20..<0x7F: String(UnicodeScalar(byte))
            default: "\\u{" + String(byte, radix: 16) + "}"
            }
        }.joined() + "\""
}
