// Signals of a program that lupin runs for a secret: as any program has them.
import LupinIO
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
            // SIGPIPE, SIGALRM and SIGTERM; SIGINT too, unless a shell started all this with `&`.
            let status = WholeFile.content(of: "/proc/self/status") ?? []
            let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("SigIgn:\t") }
            let ignored = try #require(line.flatMap { UInt64($0.dropFirst(8), radix: 16) })
            let signals = ignored & 2 == 0 ? [2, 13, 14, 15] : [13, 14, 15]
            for number in signals {
                #expect(bits & (1 << UInt64(number - 1)) == 0, "signal \(number) in \(set) \(text)")
            }
        }
    }
}
