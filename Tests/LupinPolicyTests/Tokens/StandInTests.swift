// How stand-ins look: what a template may say, and that they can't be guessed.
import LupinPolicy
import Testing

struct StandInTests {
    @Test func `text stands as it is, and each number is so many letters and digits`() throws {
        let template = try StandInTemplate(parsing: "ghp_{20}-{4}~x")
        #expect(
            template.parts == [.text("ghp_"), .random(20), .text("-"), .random(4), .text("~x")]
        )
        let text = template.text { [UInt8](repeating: 1, count: $0) }
        #expect(text == "ghp_BBBBBBBBBBBBBBBBBBBB-BBBB~x")
    }

    @Test func `without a template it is lupin_ and 40 characters`() {
        let text = StandInTemplate.usual.text { [UInt8](repeating: 61, count: $0) }
        #expect(text == "lupin_" + String(repeating: "9", count: 40))
    }

    @Test func `bytes that would make some characters likelier are not used`() throws {
        let template = try StandInTemplate(parsing: "{22}")
        var calls = 0
        let text = template.text { count in
            calls += 1
            return [UInt8](repeating: calls == 1 ? 248 : 247, count: count)
        }
        #expect(calls == 2)
        #expect(text == String(repeating: "9", count: 22))
    }

    @Test(
        arguments: [
            ("ghp_{21}", "a stand-in has at least 22 random characters, and this one 21"),
            ("abc", "a stand-in has at least 22 random characters, and this one 0"),
            ("", "a stand-in has at least 22 random characters, and this one 0"),
            ("a b{22}", "a stand-in can't contain a space or control character"),
            ("a\"{22}", "a stand-in can't contain \"\"\""),
            ("ä{22}", "a stand-in can't contain \"ä\""),
            ("a={22}", "a stand-in can't contain \"=\""),
            ("{22", "a { has no }"),
            ("}{22}", "a stand-in can't contain \"}\""),
            ("{}", "between { and } stands a number from 1 to 512"),
            ("{0}{22}", "between { and } stands a number from 1 to 512"),
            ("{-22}", "between { and } stands a number from 1 to 512"),
            ("{99999999999999999999}", "between { and } stands a number from 1 to 512"),
            ("{512}x", "a stand-in has at most 512 characters"),
        ]
    )
    func `what could be guessed or does not fit into a field is refused`(
        template: String,
        sentence: String
    ) {
        let problem = #expect(throws: StandInTemplate.Problem.self) {
            try StandInTemplate(parsing: template)
        }
        #expect(problem?.sentence == sentence)
    }

    @Test func `each token has one stand-in, and others have none`() throws {
        let tokens = ["a", "b"].map {
            TokenDefinition(name: $0, line: 1, source: .bearer(SecretText("s")))
        }
        let standIns = StandIns(for: ["a", "a", "c"], in: tokens) {
            [UInt8](repeating: 0, count: $0)
        }
        #expect(standIns.all.map(\.token) == ["a"])
        #expect(standIns[token: "a"]?.text == "lupin_" + String(repeating: "A", count: 40))
        #expect(standIns[token: "b"] == nil)
        #expect("\(standIns)" == "StandIns")
    }
}
