// Runs one reader, or all of them, on mutated inputs for a time or a number of rounds.
//
//     fuzz-readers list
//     fuzz-readers range 60s
//     fuzz-readers all 1000 7 --keep --current /tmp/input
//
// The third word is the seed. `--keep` adds the first input of every new outcome to the kept ones;
// `--current` writes each input to a file before it is read, so that a trap leaves it there.
import Foundation
import LupinFuzz

/// What the command line asks for.
private struct Order {
    var target = "all"
    var seconds: Double?
    var rounds = Int.max
    var seed: UInt64 = 1
    var keeps = false
    var current: String?

    init(_ arguments: [String]) {
        var words: [String] = []
        var rest = arguments.makeIterator()
        while let word = rest.next() {
            switch word {
            case "--keep": keeps = true
            case "--current": current = rest.next()
            default: words.append(word)
            }
        }
        target = words.first ?? "all"
        let amount = words.dropFirst().first ?? "10s"
        if amount.hasSuffix("s") { seconds = Double(amount.dropLast()) ?? 10 }
        if !amount.hasSuffix("s") { rounds = Int(amount) ?? 1000 }
        seed = words.dropFirst(2).first.flatMap { UInt64($0) } ?? 1
    }
}

/// Writes a line at once: a trap must not take it along.
private func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Fuzzes one target; false where a promise was broken.
private func run(_ target: FuzzTarget, _ order: Order) throws -> Bool {
    var run = FuzzRun(target, kept: try KeptInputs.inputs(of: target), seed: order.seed)
    var findings = run.readKept()
    let clock = ContinuousClock()
    let begun = clock.now
    let first = run.rounds
    let end = order.seconds.map { begun + .seconds($0) }
    while run.rounds - first < order.rounds, findings.count < 10 {
        let input = run.next()
        if let current = order.current {
            try "\(target.name) \(escapedInput(input))\n"
                .write(toFile: current, atomically: false, encoding: .utf8)
        }
        if let finding = run.read(input) { findings.append(finding) }
        if let end, run.rounds % 16 == 0, clock.now >= end { break }
    }
    let seconds = (clock.now - begun) / .seconds(1)
    let rate = Int(Double(run.rounds - first) / max(seconds, 0.001))
    tell(
        "\(target.name): \(rate) runs/s, \(run.rounds - first) runs, \(run.outcomes.count) outcomes"
    )
    for finding in findings { tell("BROKEN by seed \(order.seed): \(finding)") }
    if order.keeps { try KeptInputs.keep(run.discoveries, of: target) }
    return findings.isEmpty
}

private let order = Order(Array(CommandLine.arguments.dropFirst()))
if order.target == "list" {
    for target in FuzzTarget.all { tell(target.name) }
    exit(0)
}
private let targets = FuzzTarget.all.filter { order.target == "all" || $0.name == order.target }
guard !targets.isEmpty else {
    tell("there is no target \(order.target); `list` names them")
    exit(2)
}
private var isWhole = true
for target in targets { isWhole = try run(target, order) && isWhole }
exit(isWhole ? 0 : 1)
