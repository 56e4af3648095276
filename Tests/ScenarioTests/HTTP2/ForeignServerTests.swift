// The same cases against another server, which judges the cases rather than the server.
import Foundation
import LupinIO
import LupinTestKit
import Testing

/// A server of HTTP/2 at a port of this machine, in the clear.
///
/// It must answer `/` with a few octets:
///
///     nghttpd --no-tls --echo-upload -d FOLDER 8080
///     LUPIN_FOREIGN_HTTP2_PORT=8080 swift test --filter ForeignServerTests
///
/// Without the variable nothing runs here.
struct ForeignServerTests {
    private static let port = ProcessInfo.processInfo.environment["LUPIN_FOREIGN_HTTP2_PORT"]
        .flatMap { UInt16($0) }

    private static let tables: [[HTTP2Case]] = [
        HTTP2Case.preface, HTTP2Case.frameFormat, HTTP2Case.frameSize,
        HTTP2Case.fieldCompression, HTTP2Case.interruptedBlock, HTTP2Case.continuation,
        HTTP2Case.streamStates, HTTP2Case.resetByServer, HTTP2Case.streamNumbers,
        HTTP2Case.concurrency, HTTP2Case.selfDependency, HTTP2Case.data, HTTP2Case.headers,
        HTTP2Case.priority, HTTP2Case.resetStream, HTTP2Case.push, HTTP2Case.ping,
        HTTP2Case.goAway, HTTP2Case.settings, HTTP2Case.settingValues,
        HTTP2Case.connectionErrors, HTTP2Case.windowUpdate, HTTP2Case.windows,
        HTTP2Case.messages, HTTP2Case.contentLength, HTTP2Case.fieldValidity,
        HTTP2Case.connectionFields, HTTP2Case.pseudoFields, HTTP2Case.connect,
        HTTP2Case.fieldRepresentations, HTTP2Case.decodingErrors, HTTP2Case.tableSizes,
    ]

    @Test(.enabled(if: port != nil))
    func `a foreign server passes the same cases`() async throws {
        let port = try #require(Self.port)
        let target = HTTP2Target(
            dial: { try ScriptedClient(to: .loopback(port: port)) },
            scheme: "http",
            authority: "127.0.0.1:\(port)"
        )
        try await ScriptThread.run {
            for sample in Self.tables.joined() where !sample.isForLupinAlone {
                do {
                    try sample.play(on: target)
                } catch {
                    Issue.record("\(sample.name): \(error)")
                }
            }
        }
    }
}
