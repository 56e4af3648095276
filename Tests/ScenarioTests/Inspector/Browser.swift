// A real browser for the inspector's page, driven by Debian's chromedriver (W3C WebDriver).
import Foundation
import Glibc
import LupinIO
import LupinTestKit
import Testing

/// Headless Chromium with one window.
final class Browser {
    private static let driver = "/usr/bin/chromedriver"

    /// Whether the packages chromium and chromium-driver are there.
    static var isInstalled: Bool {
        ["/usr/bin/chromium", driver].allSatisfy(FileManager.default.isExecutableFile)
    }

    private let process: ChildProgram
    private let address: SocketAddress
    private let profile: String
    private var session = ""

    init(width: Int = 1280, height: Int = 800) throws {
        profile = NSTemporaryDirectory() + "lupin-browser-\(UUID().uuidString)"
        let (started, port) = try Self.startDriver()
        process = started
        address = .loopback(port: port)
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server",
            "--disable-extensions", "--disable-background-networking", "--user-data-dir=\(profile)",
            "--window-size=\(width),\(height)",
        ]
        let wish: [String: Any] = [
            "capabilities": [
                "alwaysMatch": [
                    "goog:chromeOptions": [
                        "args": arguments,
                        "prefs": ["download.default_directory": "\(profile)/downloads"],
                    ],
                    "goog:loggingPrefs": ["browser": "ALL"],
                ]
            ]
        ]
        let made = try ask("POST", "/session", wish) as? [String: Any]
        session = try #require(made?["sessionId"] as? String, "no session")
    }

    /// The driver asks for the same port by IPv4 and IPv6, and ends where somebody has one of them.
    private static func startDriver(attempts: Int = 5) throws -> (
        process: ChildProgram, port: UInt16
    ) {
        let process = ChildProgram(driver, ["--port=0"])
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var told = ""
        while true {
            if let found = told.firstMatch(of: /started successfully on port (\d+)/) {
                return (process, try #require(UInt16(found.1)))
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty {
                process.waitUntilExit()
                guard attempts > 1 else { throw SocketFailure("chromedriver ended: \(told)") }
                return try startDriver(attempts: attempts - 1)
            }
            told += String(decoding: more, as: UTF8.self)
        }
    }

    func close() {
        _ = try? ask("DELETE", "/session/\(session)")
        // Its session has ended the browser; the driver itself may take long to leave.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: profile)
    }

    // MARK: What a person does

    func open(_ url: String) throws {
        _ = try ask("POST", "/session/\(session)/url", ["url": url])
    }

    /// Clicks the element that an XPath finds, once it is there.
    func click(_ path: String) throws {
        try act("click \(path)") {
            _ = try ask("POST", "/session/\(session)/element/\(try element(path))/click", [:])
        }
    }

    /// Presses the mouse at a place within the first element that a selector finds.
    func press(_ selector: String, x: Int, y: Int) throws {
        let script = """
            const place = document.querySelector('\(selector)');
            place.scrollIntoView();
            const box = place.getBoundingClientRect();
            return [Math.round(box.x), Math.round(box.y)];
            """
        let corner = try #require(try value(script) as? [Int])
        let move: [String: Any] = ["type": "pointerMove", "x": corner[0] + x, "y": corner[1] + y]
        let buttons = ["pointerDown", "pointerUp"].map {
            ["type": $0, "button": 0] as [String: Any]
        }
        let mouse: [String: Any] = ["type": "pointer", "id": "mouse", "actions": [move] + buttons]
        _ = try ask("POST", "/session/\(session)/actions", ["actions": [mouse]])
    }

    /// Replaces the text of a field, and presses Enter behind it if asked to.
    func write(_ text: String, into path: String, entering: Bool = false) throws {
        try act("write into \(path)") {
            let place = "/session/\(session)/element/\(try element(path))"
            _ = try ask("POST", place + "/clear", [:])
            _ = try ask("POST", place + "/value", ["text": text + (entering ? "\u{E007}" : "")])
        }
    }

    /// Chooses a file for a file input.
    func choose(_ file: String, for path: String) throws {
        let place = "/session/\(session)/element/\(try element(path))"
        _ = try ask("POST", place + "/value", ["text": file])
    }

    // MARK: What a person sees

    /// The files that were downloaded.
    var downloads: [String] {
        let folder = "\(profile)/downloads"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.map { "\(folder)/\($0)" }
    }

    /// Runs a script's `return`.
    func value(_ script: String) throws -> Any? {
        try ask(
            "POST",
            "/session/\(session)/execute/sync",
            ["script": script, "args": [Any]()]
        )
    }

    /// The text in the first element that a selector finds.
    func text(_ selector: String) throws -> String {
        try value("return document.querySelector('\(selector)')?.innerText ?? ''") as? String ?? ""
    }

    func waitFor(_ words: String, in selector: String) throws {
        try eventually("\"\(words)\" in \(selector)") {
            (try? text(selector).contains(words)) == true
        }
    }

    /// What the browser's console says: violations of the policy, errors of scripts.
    func console() throws -> [String] {
        let entries = try ask("POST", "/session/\(session)/se/log", ["type": "browser"])
        return (entries as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
    }

    // MARK: WebDriver

    private func act(_ what: String, _ body: () throws -> Void) throws {
        try eventually(what) {
            do {
                try body()
                return true
            } catch {
                return false
            }
        }
    }

    private func element(_ path: String) throws -> String {
        let wish = ["using": "xpath", "value": path]
        let found = try ask("POST", "/session/\(session)/element", wish) as? [String: String]
        return try #require(found?.values.first)
    }

    @discardableResult
    private func ask(
        _ method: String,
        _ path: String,
        _ body: [String: Any]? = nil
    ) throws -> Any? {
        let client = try ScriptedClient(to: address)
        defer { client.close() }
        let sent = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
        let lines = head(
            "\(method) \(path) HTTP/1.1",
            "Host: \(address)",
            "Content-Type: application/json",
            "Content-Length: \(sent.count)"
        )
        try client.send(Array(lines.utf8) + [UInt8](sent))
        // chromedriver writes fields without a space, which the strict reader refuses.
        var answer = ""
        while !answer.hasSuffix("\r\n\r\n") { answer += try client.stream.text(1) }
        let length = answer.firstMatch(of: /(?i)\r\ncontent-length: *(\d+)/).flatMap { Int($0.1) }
        let json = try client.stream.text(try #require(length, "no length: \(answer)"))
        guard answer.hasPrefix("HTTP/1.1 200") else {
            throw SocketFailure("\(path): \(json.prefix(400))")
        }
        let value = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        return value?["value"]
    }
}
