// The first hour of somebody new, by the README from top to bottom: two terminals, a rules file, a
// phone, and the way out.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct FirstHourTests {
    /// A person with a home and nothing in it.
    private struct Person {
        let folder: Folder
        let running: RunningLupin
        let environment: [String: String]

        init(_ arguments: [String] = ["--listen", "127.0.0.1:0"]) throws {
            folder = try Folder()
            let own = ["HOME": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/.config"]
            running = try RunningLupin(arguments, environment: own)
            let programs = URL(fileURLWithPath: Lupin.path).deletingLastPathComponent().path
            environment = own.merging([
                "PATH": "\(programs):/usr/bin:/bin", "SHELL": "/bin/sh",
                "XDG_RUNTIME_DIR": running.runtime.path,
            ]) { $1 }
        }

        /// What a second terminal prints.
        func shell(_ script: String) throws -> String {
            let process = Lupin.process("/bin/sh", ["-ec", script], in: folder.path)
            process.environment = environment
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(process.terminationStatus == 0, "\(text)")
            return text
        }

        func write(_ rules: String) throws {
            let config = "\(folder.path)/.config/lupin"
            try FileManager.default.createDirectory(
                atPath: config,
                withIntermediateDirectories: true
            )
            _ = try folder.write(".config/lupin/lupin.yaml", rules)
        }

        /// Waits for the first terminal to say that other rules hold.
        func awaitRules() throws {
            while !(try running.nextLine()).contains(" loaded") {}
        }
    }

    private static let get = "eval \"$(lupin env)\"; curl -sS"
    private static let rules = """
        lupin: 1
        rules:
          - name: mock
            match: https://api.acme.example/flags
            respond: {status: 200, headers: {Content-Type: application/json}, body: '{"beta": 1}'}
          - {name: plain, match: http://api.acme.example/, respond: {status: 200, body: hello}}

        """

    @Test func `a file that comes later is taken at once, and every question has an answer`()
        throws
    {
        let person = try Person()
        let before = try person.shell("\(Self.get) http://api.acme.example/ || true")
        #expect(before.contains("could not be resolved"))
        #expect(try person.shell("lupin explain last").contains("dns_error"))
        try person.write(Self.rules)
        try person.awaitRules()
        #expect(try person.shell("lupin check").contains("ok, 2 rules"))
        #expect(try person.shell("\(Self.get) http://api.acme.example/") == "hello")
        let status = try person.shell("lupin status")
        #expect(status.contains("/.config/lupin/lupin.yaml"))
        #expect(try person.shell("lupin log -n 1").contains("[plain]"))
        #expect(try person.shell("lupin explain last").contains("plain"))
        // A tool that does not trust the CA yet is refused, and the remedy works at once.
        let flags = "https://api.acme.example/flags"
        _ = try person.shell("\(Self.get) \(flags) || true")
        #expect(try person.shell("\(Self.get) -i \(flags) 2>&1 || true").contains("403"))
        #expect(try person.shell("lupin explain last").contains("run it by `lupin exec`"))
        let inside = "lupin exec -- curl -sS https://api.acme.example/flags"
        #expect(try person.shell(inside) == "{\"beta\": 1}")
        let explained = try person.shell("lupin explain https://api.acme.example/flags")
        #expect(explained.contains("mock"))
        try person.write("lupin: 1\nrulez: []\n")
        while !(try person.running.nextLine()).contains("not taken") {}
        // The rules before it hold, and the mistake is said once more.
        let after = try person.shell("\(Self.get) http://api.acme.example/")
        #expect(after.contains("unknown key \"rulez\"") && after.hasSuffix("hello"))
        let question = "lupin explain http://api.acme.example/"
        let told = try person.shell(question)
        #expect(told.contains("was refused: ") && told.contains("✓ plain"))
        #expect(try person.shell("lupin rules").contains("plain"))
        let refused = "the file has changed and was refused (see lupin check): "
        #expect(try person.shell("lupin status").contains(refused))
        try person.write(Self.rules)
        try eventually("the file is taken again") {
            (try? person.shell("lupin status"))?.contains(refused) == false
        }
    }

    @Test func `a phone finds the page, the certificate and the configuration`() throws {
        let person = try Person()
        let proxy = "http://127.0.0.1:\(person.running.port)"
        #expect(try person.shell("curl -sS \(proxy)/").contains(proxy))
        let page = "curl -sS -x \(proxy) -H 'Accept: text/html' http://lupin/"
        #expect(try person.shell(page).contains("<h1>lupin is running</h1>"))
        #expect(try person.shell("curl -sS -x \(proxy) http://lupin/proxy.pac").contains("PROXY"))
        let unset = try person.shell("eval \"$(lupin env)\"; eval \"$(lupin env --unset)\"; env")
        #expect(!unset.contains("http_proxy"))
    }

    @Test func `a rules file that can't be written, as a container mounts it, is enough`() throws {
        let place = try Folder()
        let file = try place.write("lupin.yaml", Self.rules)
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: place.path)
        defer {
            try? FileManager.default.setAttributes(
                [.posixPermissions: 0o700],
                ofItemAtPath: place.path
            )
        }
        let person = try Person(["--rules", file, "--listen", "127.0.0.1:0"])
        #expect(try person.shell("\(Self.get) http://api.acme.example/") == "hello")
        #expect(try person.shell("lupin status").contains(file))
        person.running.signal(SIGINT)
        #expect(person.running.end() == 0)
    }
}
