// `lupin inspect`: opens the page in a browser, of a running lupin or of one that it starts.
import Foundation
import Glibc
import LupinTestKit
import Testing

struct InspectCommandTests {
    /// A browser that says what it was started with, and keeps the file that it was given.
    private func fixture() throws -> CommandFixture {
        let fixture = try CommandFixture()
        try fixture.install(
            "xdg-open",
            #"cp "${1#file://}" "$place/page"; printf '%s' "$*" > "$place/half"; "#
                + #"mv "$place/half" "$place/arguments""#
        )
        return fixture
    }

    private func run(_ fixture: CommandFixture, _ arguments: String...) throws -> Lupin.Result {
        try Lupin.run(
            arguments,
            environment: [
                "HOME": fixture.home, "XDG_CONFIG_HOME": "\(fixture.home)/.config",
                "XDG_RUNTIME_DIR": fixture.home, "TMPDIR": fixture.folder.path, "DISPLAY": ":0",
                "PATH": "\(fixture.programs):/usr/bin:/bin",
            ]
        )
    }

    @Test func `the browser gets the address by a file, and no list of processes shows its code`()
        async throws
    {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let fixture = try fixture()
            let result = try run(fixture, "inspect", "--socket", proxy.adminPath)
            #expect(result.code == 0, "\(result.errors)")
            let url = result.output.split(separator: "\n").first.map(String.init) ?? ""
            #expect(url.contains("/#code="))
            try eventually("the browser has started") {
                fixture.content("\(fixture.folder.path)/arguments") != nil
            }
            let arguments = try #require(fixture.content("\(fixture.folder.path)/arguments"))
            #expect(!arguments.contains("code="), "\(arguments)")
            let file = try #require(arguments.split(separator: "file://").last.map(String.init))
            let modes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(modes[.posixPermissions] as? Int == 0o600)
            #expect(fixture.content("\(fixture.folder.path)/page")?.contains(url) == true)
        }
    }

    @Test func `with --print nothing is opened`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let fixture = try fixture()
            let result = try run(fixture, "inspect", "--print", "--socket", proxy.adminPath)
            #expect(result.code == 0)
            #expect(fixture.names(fixture.home) == [])
        }
    }

    @Test func `each page gets a hold of the hosts that it was started for`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let fixture = try fixture()
            for host in ["a.example", "b.example"] {
                let arguments = ["inspect", "--print", "--capture", host, "--socket"]
                let result = try Lupin.run(
                    arguments + [proxy.adminPath],
                    environment: ["HOME": fixture.home, "PATH": fixture.programs]
                )
                #expect(result.code == 0, "\(result.errors)")
                let capture = try proxy.adminJSON("/v1/capture")
                let last = capture.count("holds") - 1
                #expect(capture.list("holds.\(last).hosts") == [host])
                let name = try #require(capture["holds.\(last).name"])
                #expect(result.output.contains("&hold=\(name)\n"), "\(result.output)")
            }
            let capture = try proxy.adminJSON("/v1/capture")
            #expect(capture.count("holds") == 2 && capture.list("hosts") == [])
        }
    }

    @Test(.waitsForPrograms)
    func `where no lupin runs, one is started and serves`() throws {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", "lupin: 1\nlisten: {address: \"127.0.0.1:0\"}\n")
        let lupin = try RunningLupin(
            "inspect",
            "--print",
            "--capture",
            "a.example",
            "--rules",
            file
        )
        var line = try lupin.nextLine()
        while !line.contains("#code=") { line = try lupin.nextLine() }
        let fixture = "\(lupin.runtime.path)/lupin.sock"
        let status = try Lupin.run("status", "--json", "--socket", fixture)
        #expect(status.code == 0, "\(status.errors)")
        let client = ScriptedClient(over: try PlainSocket.connect(toPath: fixture))
        defer { client.close() }
        try client.send("GET /v1/capture HTTP/1.1\r\nHost: lupin\r\n\r\n")
        #expect(RecordLine(try client.response().bodyText)?.list("hosts") == ["a.example"])
        lupin.signal(SIGTERM)
        #expect(lupin.end() == 0)
    }
}
