// That lines reach their file in order, that lost ones are counted, and that files rotate.

import Foundation
import Logging
import LupinCore
import LupinIO
import LupinProxy
import LupinRecords
import Synchronization
import Testing

struct RecordWriterTests {
    private let folder = TemporaryFolder()
    private let diagnostics = DiagnosticsCatcher()

    private func settings(_ name: String, rotateBytes: Int = 0, keep: Int = 5) -> LogSettings {
        var settings = LogSettings()
        settings.to = .file(folder.path(name))
        settings.rotateBytes = rotateBytes
        settings.rotateKeep = keep
        return settings
    }

    private func makeWriter(
        _ settings: LogSettings,
        queueBytesMax: Int = RecordWriter.queueBytesMax
    ) throws -> RecordWriter {
        try RecordWriter(settings, logger: diagnostics.logger, queueBytesMax: queueBytesMax)
    }

    private func makeSink(_ writer: RecordWriter, style: RecordStyle = .json) -> RecordSink {
        RecordSink(
            writer: writer,
            log: LogSettings(),
            style: style,
            redactor: Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
        )
    }

    private func record(_ number: Int) -> ExchangeRecord {
        ExchangeRecord(
            id: ExchangeID(high: 0, low: UInt64(number)),
            startMicroseconds: 1_795_214_467_123_456
        )
    }

    /// The low half of the ids in a file, in order, and the sum of `dropped`.
    private func read(_ name: String) -> (ids: [UInt64], dropped: UInt64) {
        var ids: [UInt64] = []
        var dropped: UInt64 = 0
        for line in folder.lines(name) {
            guard let json = JSONValue(parsing: line.span), let id = json["id"]?.string else {
                continue
            }
            ids.append(UInt64(id.suffix(16), radix: 16) ?? .max)
            dropped += json["dropped"]?.count ?? 0
        }
        return (ids, dropped)
    }

    @Test func `lines arrive whole and in order`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        for i in 0..<1010 { sink.record(record(i)) }
        #expect(sink.askForFlush())
        #expect(!sink.askForFlush())
        sink.flush()
        #expect(!sink.askForFlush())
        writer.close()
        #expect(read("log").ids == Array(0..<1010))
        #expect(read("log").dropped == 0)
        #expect(folder.mode("log") == 0o600)
        #expect(diagnostics.messages.isEmpty)
    }

    @Test func `the line of a record is returned as it stands in the log`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        // Many more than are handed over at once.
        let lines = (0..<1000).map { sink.record(record($0), returnsLine: true) }
        sink.flush()
        writer.close()
        #expect(lines == folder.lines("log"))
    }

    @Test func `a line that is no JSON or tells of others is not returned`() throws {
        let writer = try makeWriter(settings("log"), queueBytesMax: 1)
        let text = makeSink(
            writer,
            style: .text(isColoured: false, columns: nil, utcOffsetSeconds: 0)
        )
        #expect(text.record(record(0), returnsLine: true).isEmpty)
        let sink = makeSink(writer)
        #expect(sink.record(record(1)).isEmpty)
        sink.flush()
        #expect(sink.record(record(2), returnsLine: true).isEmpty)
        #expect(!sink.record(record(3), returnsLine: true).isEmpty)
        writer.close()
    }

    @Test func `a line is not handed over alone`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        sink.record(record(1))
        writer.close()
        #expect(read("log").ids == [])
    }

    @Test func `a full queue drops lines and the next line says how many`() throws {
        let writer = try makeWriter(settings("log"), queueBytesMax: 1)
        let sink = makeSink(writer)
        for i in 0..<3 {
            sink.record(record(i))
            sink.flush()
        }
        // What announced the drops was dropped itself; nothing is counted twice or forgotten.
        #expect(writer.takeDropped() == 3)
        writer.close()
        #expect(read("log").ids == [])
    }

    @Test func `a full disk loses lines, is said once, and does no harm`() throws {
        var settings = LogSettings()
        settings.to = .file("/dev/full")
        let writer = try makeWriter(settings)
        let sink = makeSink(writer)
        for i in 0..<3 {
            sink.record(record(i))
            sink.flush()
        }
        writer.close()
        #expect(diagnostics.messages.count == 2)
        #expect(diagnostics.messages.first?.contains("No space left on device") == true)
        #expect(diagnostics.messages.last?.contains("records were lost") == true)
    }

    @Test func `lines lost on a full disk are announced when there is room again`() throws {
        var full = LogSettings()
        full.to = .file("/dev/full")
        let writer = try makeWriter(full)
        let sink = makeSink(writer)
        sink.record(record(0))
        sink.record(record(1))
        sink.flush()
        writer.change(to: settings("log"))
        writer.drain()
        sink.record(record(2))
        sink.flush()
        writer.close()
        #expect(read("log").ids == [2])
        #expect(read("log").dropped == 2)
    }

    @Test func `a file that is too long is moved aside before the next lines`() throws {
        let writer = try makeWriter(settings("log", rotateBytes: 1000, keep: 2))
        let sink = makeSink(writer)
        for i in 0..<12 {
            sink.record(record(i))
            sink.flush()
        }
        writer.close()
        let ids = ["log.2", "log.1", "log"].map { read($0).ids }
        #expect(Array(ids.joined()) == Array((12 - UInt64(ids.joined().count))..<12))
        #expect(ids.allSatisfy { !$0.isEmpty && $0.count <= 4 })
        #expect(read("log.3").ids == [])
    }

    @Test func `reopen goes on in a new file after somebody moved the old one`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        sink.record(record(1))
        sink.flush()
        writer.drain()
        try FileRename.rename(folder.path("log"), to: folder.path("old"))
        sink.record(record(2))
        sink.flush()
        writer.reopen()
        sink.record(record(3))
        sink.flush()
        writer.close()
        #expect(read("old").ids == [1, 2])
        #expect(read("log").ids == [3])
    }

    @Test func `a destination that can't be opened leaves the old one`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        writer.change(to: settings("missing/log"))
        sink.record(record(1))
        sink.flush()
        writer.close()
        #expect(read("log").ids == [1])
        #expect(diagnostics.messages.count == 1)
    }

    @Test func `a symbolic link is refused`() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"),
            withDestinationPath: "/dev/null"
        )
        #expect(throws: SystemError(code: ELOOP)) { try makeWriter(settings("link")) }
    }

    @Test func `after the end nothing is written and nothing traps`() throws {
        let writer = try makeWriter(settings("log"))
        let sink = makeSink(writer)
        writer.close()
        sink.record(record(1))
        sink.flush()
        #expect(writer.takeDropped() == 1)
        writer.reopen()
        writer.close()
    }

    @Test(arguments: [
        (LogSettings.Format.auto, LogSettings.Destination.file("x"), true),
        (.json, .file("x"), true), (.text, .file("x"), false), (.json, .stdout, true),
        (.text, .stderr, false),
    ])
    func `a file is JSON unless text is asked for`(
        format: LogSettings.Format,
        to: LogSettings.Destination,
        isJSON: Bool
    ) {
        var settings = LogSettings()
        settings.format = format
        settings.to = to
        let style = RecordStyle(
            settings,
            allowsColour: true,
            columns: 80,
            utcOffsetSeconds: 0
        )
        #expect((style == .json) == isJSON)
    }

    @Test(arguments: [false, true])
    func `stages have lines between records, log off keeps all but failures back`(
        isOff: Bool
    ) throws {
        let writer = try makeWriter(settings("log"))
        var log = LogSettings()
        if isOff { log.to = .off }
        let redactor = Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
        let sink = RecordSink(writer: writer, log: log, style: .json, redactor: redactor)
        let moment = ExchangeMoment(
            id: ExchangeID(high: 0, low: 1),
            microseconds: 0,
            request: nil,
            origin: nil,
            redactor: redactor
        )
        sink.write(StageRecord(.accepted, of: moment))
        sink.write(AttemptSummary(AttemptRecord(), number: 1, redactor), of: moment)
        sink.record(record(1))
        let token = TokenSummary(name: "gh", version: nil, detail: "gone", microseconds: 0)
        sink.write(StageRecord(token), isFailure: true)
        sink.flush()
        writer.close()
        let events = folder.lines("log").map { line in
            JSONValue(parsing: line.span)?["event"]?.string ?? ""
        }
        #expect(events == (isOff ? ["token"] : ["stage", "attempt", "exchange", "token"]))
    }

    @Test func `log off at the top still tells what failed`() throws {
        let writer = try makeWriter(settings("log"))
        var off = LogSettings()
        off.to = .off
        let sink = RecordSink(
            writer: writer,
            log: off,
            style: .json,
            redactor: Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
        )
        sink.record(record(1))
        var failed = record(2)
        failed.outcome = .error
        sink.record(failed)
        sink.flush()
        writer.close()
        #expect(read("log").ids == [2])
    }
}

/// A folder that goes away with the test.
private final class TemporaryFolder: Sendable {
    private let root: String

    init() {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        self.root = root.path
        try? FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func mode(_ name: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path(name))
        return attributes?[.posixPermissions] as? Int
    }

    func lines(_ name: String) -> [[UInt8]] {
        var bytes: [UInt8] = []
        do throws(SystemError) {
            var file = try TailedFile(path: path(name))
            while try file.read(into: &bytes) {}
        } catch {
            return []
        }
        return bytes.split(separator: 0x0A).map { Array($0) }
    }
}

/// Keeps what lupin tells its operator.
private final class DiagnosticsCatcher: Sendable {
    private let caught = Mutex<[String]>([])

    var messages: [String] { caught.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Catching(catcher: self) } }

    private struct Catching: LogHandler {
        let catcher: DiagnosticsCatcher
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            catcher.caught.withLock { $0.append("\(event.message)") }
        }
    }
}
