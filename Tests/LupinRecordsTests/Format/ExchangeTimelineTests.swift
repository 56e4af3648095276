// Where the time went: bars of stages, one after the other, on one scale.
import LupinRecords
import LupinTestKit
import Testing

struct ExchangeTimelineTests {
    private func lines(_ record: String, columns: Int = 20) throws -> [String]? {
        ExchangeTimeline(try #require(parseJSON(record)))?.lines(columns: columns)
    }

    @Test func `stages follow one another, and the pause before a retry`() throws {
        let drawn = try lines(
            """
            {"timing":{"total":1000},"attempts":[
              {"n":1,"why":"first","delay":500,
               "timing":{"dns":50,"tcp":50,"wait":100,"total":200}},
              {"n":2,"why":"retry","timing":{"send":0,"wait":200,"receive":100,"total":300}}]}
            """
        )
        #expect(
            drawn == [
                "attempt 1", "  dns         50ms  █", "  tcp         50ms   █",
                "  wait       100ms    ██", "  pause      500ms      ░░░░░░░░░░",
                "attempt 2 (retry)", "  wait       200ms                ████",
                "  receive    100ms                    ██",
            ]
        )
    }

    @Test func `a hedge begins beside the attempt that was slow`() throws {
        let drawn = try lines(
            """
            {"timing":{"total":100},"attempts":[
              {"n":1,"why":"first","timing":{"wait":100,"total":100}},
              {"n":2,"why":"hedge","timing":{"wait":50,"total":50}}]}
            """
        )
        #expect(
            drawn == [
                "attempt 1", "  wait       100ms  ████████████████████", "attempt 2 (hedge)",
                "  wait        50ms  ██████████",
            ]
        )
    }

    @Test func `an attempt stands where its start says, whatever came before`() throws {
        let drawn = try lines(
            """
            {"timing":{"total":100},"attempts":[
              {"n":1,"why":"first","timing":{"wait":50,"total":50}},
              {"n":2,"why":"hedge","start":25,"timing":{"wait":50,"total":50}},
              {"n":3,"why":"retry","start":90,"timing":{"wait":10,"total":10}}]}
            """
        )
        #expect(
            drawn == [
                "attempt 1", "  wait        50ms  ██████████", "attempt 2 (hedge)",
                "  wait        50ms       ██████████", "attempt 3 (retry)",
                "  wait        10ms                    ██",
            ]
        )
    }

    @Test func `a pause is no part of the attempt after it, and the rest in lupin is`() throws {
        let drawn = try lines(
            """
            {"timing":{"total":100},"attempts":[
              {"n":1,"why":"first","delay":50,"timing":{"wait":10,"total":10}},
              {"n":2,"why":"hedge","start":5,"timing":{"blocked":0,"wait":5,"total":5}},
              {"n":3,"why":"retry","start":10,"delay":10,
               "timing":{"blocked":60,"wait":10,"total":10}},
              {"n":4,"why":"retry","start":80,"timing":{"blocked":10,"wait":10,"total":10}}]}
            """
        )
        #expect(
            drawn == [
                "attempt 1", "  wait        10ms  ██",
                "  pause       50ms    ░░░░░░░░░░",
                "attempt 2 (hedge)", "  wait         5ms   █",
                "attempt 3 (retry)",
                "  in lupin    10ms              ██",
                "  wait        10ms                ██",
                "  pause       10ms                  ░░",
                "attempt 4 (retry)",
                "  wait        10ms                    ██",
            ]
        )
    }

    @Test(arguments: [
        "{}", "[]", #"{"timing":{"total":5}}"#, #"{"timing":{"total":0},"attempts":[{}]}"#,
        #"{"timing":{"total":5},"attempts":[{"n":1},{"timing":{"wait":"x"}}]}"#,
    ])
    func `without times there is none`(record: String) throws {
        #expect(try lines(record) == nil)
    }

    @Test func `times of any size are drawn within the columns`() throws {
        let far = "3999999999999"
        for record in [
            #"{"timing":{"total":1},"attempts":[{"timing":{"wait":\#(far),"receive":\#(far)}}]}"#,
            #"{"timing":{"total":\#(far)},"attempts":[{"delay":\#(far),"timing":{"wait":1}}]}"#,
        ] {
            for line in try #require(try lines(record)) {
                let bar = line.drop { $0 != "█" && $0 != "░" }
                #expect(bar.count <= 20 && line.count <= 22 + 20 + 8, "\(line)")
            }
        }
        let many = Array(repeating: #"{"delay":\#(far),"timing":{"wait":\#(far)}}"#, count: 1000)
        let record = "{\"timing\":{\"total\":1},\"attempts\":[\(many.joined(separator: ","))]}"
        #expect(try lines(record)?.count == 3000)
    }
}
