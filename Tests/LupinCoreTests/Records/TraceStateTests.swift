// Which lists of tracestate pass, and what of a long one is left.

import LupinCore
import Testing

struct TraceStateTests {
    @Test(arguments: [
        (["congo=t61rcWkgMzE"], "congo=t61rcWkgMzE"),
        (["a=1,b=2", "c=3"], "a=1,b=2,c=3"),
        (["a=1 ,\t b=2"], "a=1,b=2"),
        ([",a=1,,b=2, "], "a=1,b=2"),
        (["fw529a3039@dt=FfAAAAAAAAEs", "0a_-*/=x y"], "fw529a3039@dt=FfAAAAAAAAEs,0a_-*/=x y"),
        ([""], ""),
        ([], ""),
    ])
    func `members stay as they came`(values: [String], text: String) {
        #expect(TraceState(values)?.text == text)
    }

    @Test(arguments: [
        "a", "=1", "a=", "A=1", "_a=1", "a b=1", "a=1=2", "a=\u{E9}", "a=1\u{7F}", "a=1,a=2",
        "\(String(repeating: "a", count: 257))=1", "a=\(String(repeating: "1", count: 257))",
    ])
    func `a malformed member makes the list malformed`(value: String) {
        #expect(TraceState([value]) == nil)
        #expect(TraceState(["ok=1", value]) == nil)
    }

    @Test func `33 members are too many`() {
        let members = (0..<33).map { "k\($0)=v" }
        #expect(TraceState(Array(members.dropLast()))?.members.count == 32)
        #expect(TraceState(members) == nil)
        #expect(TraceState([members.joined(separator: ",")]) == nil)
    }

    @Test func `a list above 512 bytes loses its long members first, then the last ones`() throws {
        let long = "long=\(String(repeating: "x", count: 200))"
        let short = (0..<6).map { "s\($0)=\(String(repeating: "y", count: 80))" }
        let state = try #require(TraceState([long] + short))
        #expect(state.members == short)
        let many = (0..<8).map { "s\($0)=\(String(repeating: "y", count: 80))" }
        let kept = try #require(TraceState(many))
        #expect(kept.members == Array(many.prefix(6)))
        #expect(kept.text.utf8.count <= TraceState.bytesMax)
    }
}
