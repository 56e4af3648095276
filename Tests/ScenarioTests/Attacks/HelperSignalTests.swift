// Signals of a program that lupin runs for a secret: as any program has them.
import LupinTestKit
import Testing

struct HelperSignalTests {
    /// What a program blocks, its own children block too, so no `timeout` could end them.
    ///
    /// Without a shell: one blocks signals of its own while it starts another program.
    @Test(arguments: ["SigBlk", "SigIgn"])
    func `no signal is blocked, and a broken pipe ends it`(set: String) async throws {
        let rules = """
            tokens: {me: {command: [/bin/sed, -n, 's/^\(set):.//p', /proc/self/status]}}
            rules: [{match: {}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, environment: ["PATH": "/usr/bin:/bin"]) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                try connection.reply(body: request["Authorization"] ?? "none")
            }
            let shown = try proxy.client().get(origin.url()).bodyText
            let text = try #require(shown.split(separator: " ").last)
            let bits = try #require(UInt64(text, radix: 16), "\(shown)")
            // SIGINT, SIGPIPE, SIGALRM and SIGTERM.
            for number in [2, 13, 14, 15] {
                #expect(bits & (1 << UInt64(number - 1)) == 0, "signal \(number) in \(set) \(text)")
            }
        }
    }
}
