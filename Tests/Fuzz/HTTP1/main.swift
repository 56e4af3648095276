// Mutates seeds and checks that no parser traps, or depends on how its bytes are cut.
//
//     fuzz-http1 [iterations] [seed]
//
// The run is deterministic. A finding is printed with what reproduces it and ends the run with 1.
import Glibc
import LupinWire

let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) ?? 0 }
let iterations = arguments.first ?? 100_000
let seed = arguments.dropFirst().first ?? 1

var fuzzer = Fuzzer(seed: seed)
for iteration in 0..<iterations {
    if let finding = fuzzer.iterate() {
        print("iteration \(iteration), seed \(seed): \(finding)")
        exit(1)
    }
}
let counts = "accepted \(fuzzer.accepted), refused \(fuzzer.refused)"
print("\(iterations) iterations, seed \(seed): \(counts), incomplete \(fuzzer.incomplete)")
