// Whether the waits of the engine have every timeout of the rules file.
import LupinPolicy
import LupinProxy
import Testing

struct LoopTimeoutsTests {
    @Test func `every timeout reaches the engine`() {
        let usual = values(LoopTimeouts(Timeouts()))
        // The drain is nobody's wait but the whole program's.
        for row in TimeoutTable.rows where row.setting.key != "drain" {
            var timeouts = Timeouts()
            change(row.keyPath, in: &timeouts)
            #expect(values(LoopTimeouts(timeouts)) != usual, "\(row.setting.name)")
        }
    }

    private func change(_ keyPath: ValueKeyPath<Timeouts>, in timeouts: inout Timeouts) {
        switch keyPath {
        case .duration(let path): timeouts[keyPath: path] = .seconds(12345)
        case .durationOrWord(let path): timeouts[keyPath: path] = .seconds(12345)
        case .number(let path): timeouts[keyPath: path] = 12345
        case .numberOrWord(let path): timeouts[keyPath: path] = 12345
        case .boolean(let path): timeouts[keyPath: path].toggle()
        case .count, .choice: Issue.record("no kind of a timeout")
        }
    }

    private func values(_ timeouts: LoopTimeouts) -> [String] {
        Mirror(reflecting: timeouts).children.map { "\($0.label ?? "") \($0.value)" }
    }
}
