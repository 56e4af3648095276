// How long a connection is used after its server has said how long it keeps it.

import LupinCore
import Testing

struct KeepAliveFieldTests {
    @Test(
        arguments: [
            ("timeout=5", 4_000_000), ("timeout=1", 750_000), ("Timeout=60, max=100", 59_000_000),
            ("max=100, timeout=2", 1_500_000), ("timeout=0", 0),
            ("timeout=5, timeout=2", 1_500_000),
            ("timeout=99999999999999999999999", 86_399_000_000), ("max=5", nil), ("timeout", nil),
            ("timeout=", nil), ("timeout=-1", nil), ("timeout=x", nil), ("", nil),
        ] as [(String, UInt64?)]
    )
    func `less a margin it is what the server says`(value: String, time: UInt64?) {
        var fields = FieldSection()
        fields.add(name: "Keep-Alive", value: value)
        #expect(KeepAliveField.idleTime(in: fields) == time)
    }

    @Test func `without the field nothing is known`() {
        #expect(KeepAliveField.idleTime(in: FieldSection()) == nil)
    }
}
