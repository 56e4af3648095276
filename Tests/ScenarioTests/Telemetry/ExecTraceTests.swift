// `lupin exec` in a pipeline that has a trace: its command's requests join it.
import Foundation
import LupinTestKit
import Testing

struct ExecTraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let caller = "00f067aa0ba902b7"

    private func environment(_ folder: Folder, _ more: [String: String]) -> [String: String] {
        [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_CONFIG_HOME": folder.path,
            "TMPDIR": folder.path, "TRACEPARENT": "00-\(Self.trace)-\(Self.caller)-01",
            "TRACESTATE": "ci=1",
        ].merging(more) { $1 }
    }

    @Test func `curl appears in the pipeline's trace`() async throws {
        try await Collector.run { collector in
            let folder = try Folder()
            let origin = try ScriptedOrigin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "hello") }
            }
            defer { origin.stop() }
            let environment = environment(folder, ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.url])
            let own = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let result = try await ScriptThread.run {
                try Lupin.run(
                    [
                        "exec", "--all", "--", "curl", "-sS", origin.url("/1"), "--next", "-sS",
                        "-H", own, origin.url("/2"),
                    ],
                    environment: environment
                )
            }
            #expect(result.output == "hellohello", "\(result)")
            let servers = collector.spans.filter(\.isServer)
            let first = try #require(servers.first { $0["url.path"] == "/1" })
            #expect(first.trace == Self.trace)
            #expect(first.parent == Self.caller)
            let second = try #require(servers.first { $0["url.path"] == "/2" })
            #expect(second.trace == "0af7651916cd43dd8448eb211c80319c")
            let attempt = try #require(
                collector.spans.first { $0.isClient && $0.trace == Self.trace }
            )
            #expect(origin.receivedText.contains("traceparent: 00-\(Self.trace)-\(attempt.id)-01"))
            #expect(origin.receivedText.contains("tracestate: ci=1"))
        }
    }

    @Test func `without a collector the variables mean nothing`() async throws {
        let folder = try Folder()
        let origin = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil { try connection.reply(body: "hello") }
        }
        defer { origin.stop() }
        let environment = environment(folder, [:])
        let result = try await ScriptThread.run {
            try Lupin.run(
                ["exec", "--all", "--", "curl", "-sS", origin.url()],
                environment: environment
            )
        }
        #expect(result.output == "hello", "\(result)")
        #expect(!origin.receivedText.lowercased().contains("traceparent"))
    }
}
