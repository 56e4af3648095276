// How durations, sizes, rates and shares are written.

import LupinPolicy
import Testing

struct UnitsTests {
    private func problem<Value>(_ read: () throws(Units.Problem) -> Value) -> Units.Problem? {
        do {
            _ = try read()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("500ms", 500), ("5s", 5000), ("10m", 600_000), ("1h", 3_600_000), ("7d", 604_800_000),
        ("0", 0), ("0s", 0), ("90s", 90000),
    ])
    func `a duration has a unit`(text: String, milliseconds: Int64) throws {
        #expect(try Units.duration(text) == milliseconds)
    }

    @Test(arguments: [
        ("60", "\"60\" has no unit", "write 60s"),
        ("60 sec", "\"60 sec\" has an unknown unit", "units: ms s m h d"),
        ("60sec", "\"60sec\" has an unknown unit", "write 60s"),
        ("5M", "\"5M\" has an unknown unit", "write 5m"),
        ("1y", "\"1y\" has an unknown unit", "units: ms s m h d"),
        ("1.5s", "\"1.5s\" has an unknown unit", "units: ms s m h d"),
        ("soon", "\"soon\" is not a duration", "write 500ms"),
        ("-5s", "\"-5s\" is not a duration", "write 500ms"),
        ("", "\"\" is not a duration", "write 500ms"),
        ("9999999999999999999999d", "\"9999999999999999999999d\" is not a duration", "write 500ms"),
        ("٣s", "\"٣s\" is not a duration", "write 500ms"),
    ])
    func `what is no duration is told with what to write`(
        text: String,
        message: String,
        hint: String
    ) {
        let problem = problem { () throws(Units.Problem) in try Units.duration(text) }
        #expect(problem?.message == message)
        #expect(problem?.hint == hint)
    }

    @Test func `the largest number with the largest unit does not overflow`() {
        let problem = problem { () throws(Units.Problem) in try Units.size("999999999999999TiB") }
        #expect(problem?.message == "\"999999999999999TiB\" is out of range")
    }

    @Test(arguments: [
        ("64KiB", 65536), ("10MiB", 10_485_760), ("1GiB", 1 << 30), ("2TiB", 2 << 40),
        ("512B", 512),
        ("0", 0),
    ])
    func `a size has a binary unit`(text: String, bytes: Int) throws {
        #expect(try Units.size(text) == bytes)
    }

    @Test(arguments: [
        ("64KB", "write 64KiB"), ("64k", "write 64KiB"), ("5MB", "write 5MiB"),
        ("64", "write 64KiB"),
        ("1G", "write 1GiB"), ("5miB", "write 5MiB"), ("5XiB", "units: B KiB MiB GiB TiB"),
    ])
    func `other spellings of sizes are told`(text: String, hint: String) {
        #expect(problem { () throws(Units.Problem) in try Units.size(text) }?.hint == hint)
    }

    @Test func `a rate is bytes per second`() throws {
        #expect(try Units.rate("64/s") == 64)
        #expect(try Units.rate("5MiB/s") == 5 << 20)
        #expect(problem { () throws(Units.Problem) in try Units.rate("64") }?.hint == "write 64/s")
        #expect(problem { () throws(Units.Problem) in try Units.rate("0/s") }?.hint == "write none")
    }

    @Test(arguments: [
        ("5MiB", "write 5MiB/s"), ("5MB/s", "write 5MiB/s"),
        ("fast", "write 64/s"), ("5Mbit/s", "units: B KiB MiB GiB TiB"),
    ])
    func `other spellings of rates are told`(text: String, hint: String) {
        #expect(problem { () throws(Units.Problem) in try Units.rate(text) }?.hint == hint)
    }

    @Test(arguments: [("1000/30s", 1000, 30000), ("1/500ms", 1, 500), ("0/1h", 0, 3_600_000)])
    func `a number in a time has both`(text: String, count: Int, milliseconds: Int64) throws {
        let value = try Units.countInTime(text)
        #expect(value.count == count && value.milliseconds == milliseconds)
    }

    @Test(arguments: [
        ("1000", "\"1000\" has no time", "write 1000/30s"),
        ("100/s", "\"100/s\" has no time", "write 100/1s"),
        ("1000/30", "\"30\" has no unit", "write 30s"),
        ("1000/", "\"\" is not a duration", "write 500ms"),
        ("1000/30s/2", "\"30s/2\" has an unknown unit", "units: ms s m h d"),
        ("/30s", "\"/30s\" is not a number in a time", "write 1000/30s"),
        ("", "\"\" is not a number in a time", "write 1000/30s"),
        ("many", "\"many\" is not a number in a time", "write 1000/30s"),
        ("-1/30s", "\"-1/30s\" is not a number in a time", "write 1000/30s"),
    ])
    func `what is no number in a time is told with what to write`(
        text: String,
        message: String,
        hint: String
    ) {
        let problem = problem { () throws(Units.Problem) in try Units.countInTime(text) }
        #expect(problem?.message == message)
        #expect(problem?.hint == hint)
    }

    @Test func `a share is a percentage`() throws {
        #expect(try Units.percent("20%") == 20)
        #expect(
            problem { () throws(Units.Problem) in try Units.percent("20") }?.hint == "write 20%"
        )
        #expect(
            problem { () throws(Units.Problem) in try Units.percent("140%") }?.message
                == "140% is out of range"
        )
        #expect(problem { () throws(Units.Problem) in try Units.percent("x") }?.hint == "write 20%")
    }
}
