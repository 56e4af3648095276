// A confined command's environment: it shows no secret, and names no socket of a program outside.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct ConfinedVariableTests {
    /// The output of `env`, and what lupin said.
    private func run(
        _ variables: [String: String],
        in folder: Folder,
        options: [String] = ["--confine"],
        intercept: String = "{mode: none}",
        rules: String = "tokens: {t: {bearer: \"${env:PLANTED}\"}}",
        words: [String] = ["env"]
    ) throws -> Lupin.Result {
        let file = try folder.write(
            "lupin.yaml",
            "lupin: 1\nintercept: \(intercept)\n\(rules)\n"
        )
        var environment = ["PATH": "/usr/bin:/bin", "PLANTED": "planted-s3cret-value"]
        environment.merge(variables) { $1 }
        return try Lupin.run(
            ["exec"] + options + ["--rules", file, "--log", "\(folder.path)/log", "--"] + words,
            environment: environment
        )
    }

    @Test func `variables with secrets are left out, and named where the command fails`() throws {
        let result = try run(
            [
                "RAW": "a planted-s3cret-value", "BASE64": "YTpwbGFudGVkLXMzY3JldC12YWx1ZQ==",
                "HEX": "706c616e7465642d7333637265742d76616c7565",
                "PERCENT": "%70lanted-s3cret-value", "HERE": "stays",
                "ALL_PROXY": "socks5://u:parent@p.test:1", "MINE": "x parent",
                "OTEL_EXPORTER_OTLP_HEADERS": "api-key=collectors-key",
                "NODE_OPTIONS": "--title=planted-s3cret-value",
            ],
            in: try Folder(),
            words: ["sh", "-c", "env; exit 3"]
        )
        #expect(result.code == 3, "\(result.errors)")
        for text in ["s3cret", "YTpw", "706c", "parent", "collectors-key"] {
            #expect(!result.output.contains(text), "\(text)")
        }
        #expect(result.output.contains("HERE=stays\n"))
        let line =
            "lupin: variables that the command did not get: ALL_PROXY, BASE64, HEX, MINE, "
            + "OTEL_EXPORTER_OTLP_HEADERS, PERCENT, PLANTED, RAW\n"
        #expect(result.errors.contains(line), "\(result.errors)")
    }

    @Test func `other credentials that it gets are named before it runs`() throws {
        let result = try run(
            ["AWS_SECRET_ACCESS_KEY": "x", "MY_TOKEN": "", "EDITOR": "vi"],
            in: try Folder(),
            options: ["--confine", "--explain"]
        )
        let title = "Variables given that look like credentials; env -u takes one away"
        #expect(
            result.output.contains("\(title)\n    AWS_SECRET_ACCESS_KEY\n"),
            "\(result.output)\(result.errors)"
        )
    }

    @Test func `where stand-ins are given they are left out, too`() throws {
        let folder = try Folder()
        let result = try run(
            ["RAW": "a planted-s3cret-value", "SSH_AUTH_SOCK": "/tmp/agent"],
            in: folder,
            options: [],
            intercept: "{ca: {cert: \(folder.path)/ca.pem, key: \(folder.path)/ca.key}}",
            rules: """
                tokens: {t: {bearer: "${env:PLANTED}"}}
                exec: {env: {T: t}}
                rules: [{match: "https://a.test", stand_ins: [t], scrub: true}]
                """
        )
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.output.contains("s3cret"))
        // It is not confined.
        #expect(result.output.contains("SSH_AUTH_SOCK=/tmp/agent\n"))
    }

    /// `SOCK` is a socket that listens, `GONE` a path below the runtime folder.
    private static let doors = [
        ("SSH_AUTH_SOCK", "SOCK"), ("ANYTHING", "SOCK"), ("TMUX", "SOCK,123,0"),
        ("GPG_AGENT_INFO", "SOCK:1:1"), ("SOME_ADDRESS", "unix:path=SOCK"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:guid=0123,path=SOCK"),
        ("BUS", "tcp:host=a.test;unix:guid=0123,path=SOCK"), ("A_LIST", "/nowhere:SOCK"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/dbus-x"), ("DOCKER_HOST", "unix://SOCK"),
        ("NVIM", "GONE/nvim.1.0"), ("NVIM_LISTEN_ADDRESS", "/tmp/nvim"),
        ("VSCODE_GIT_IPC_HANDLE", "/nowhere/vscode-git-1.sock"),
        ("VSCODE_IPC_HOOK_CLI", "GONE/vscode-ipc.sock"), ("WEZTERM_UNIX_SOCKET", "GONE/gui-sock-1"),
        ("EMACS_SERVER_FILE", "/nowhere/server"), ("ALACRITTY_SOCKET", "GONE/Alacritty.sock"),
        ("STY", "123.pts-0.here"), ("KITTY_LISTEN_ON", "unix:@kitty"), ("DISPLAY", ":0"),
        ("WAYLAND_DISPLAY", "wayland-0"), ("PULSE_SERVER", "unix:GONE/pulse/native"),
        ("SESSION_MANAGER", "local/here:@/tmp/.ICE-unix/1,unix/here:/tmp/.ICE-unix/1"),
        ("QUOTED", "--socket=\"SOCK\""), ("OF_A_TOOL", "GONE/tool/new.sock"),
        ("A_URL", "ENCODED"), ("DATABASE", "postgresql://u@ENCODED/db"),
        ("A_URL", "http+unix://ENCODED/x"),
        ("DATABASE", "postgresql:///db?port=1&host=ENCODED"),
        ("A_URL", "redis+socket:///SOCK?db=1"),
        ("TWICE", "a://TWICEENCODED/b"), ("LATER", "a://u:p@LATERENCODED"),
    ]

    @Test(arguments: doors)
    func `a variable that names a socket is left out`(name: String, value: String) throws {
        let folder = try Folder()
        let runtime = try Folder()
        let socket = "\(folder.path)/s"
        let python = "import socket; socket.socket(socket.AF_UNIX).bind('\(socket)')"
        _ = try Lupin.run(program: RedirectionTests.python, ["-c", python])
        try #require(FileManager.default.fileExists(atPath: socket))
        let encoded = socket.replacing("/", with: "%2F")
        let later = "\(runtime.path)/later".replacing("/", with: "%2f")
        let written = value.replacing("TWICEENCODED", with: encoded.replacing("%", with: "%25"))
            .replacing("LATERENCODED", with: later).replacing("ENCODED", with: encoded)
            .replacing("SOCK", with: socket).replacing("GONE", with: runtime.path)
        let result = try run(
            [name: written, "XDG_RUNTIME_DIR": runtime.path, "HERE": folder.path],
            in: folder
        )
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.output.contains("\(name)="))
        #expect(result.output.contains("HERE=\(folder.path)\n"))
    }

    @Test func `other paths stay`() throws {
        let folder = try Folder()
        let runtime = try Folder()
        let path = "\(runtime.path):/usr/bin:/bin"
        let result = try run(
            [
                "PATH": path, "EDITOR": "/usr/bin/vi", "A": "/nowhere/x", "B": "a:b,/usr",
                "C": "https://a.test/%2Fusr%2Fbin?x=100%&y=%2Fnowhere",
            ],
            in: folder
        )
        for line in ["EDITOR=/usr/bin/vi\n", "A=/nowhere/x\n", "B=a:b,/usr\n", "C=https:"] {
            #expect(result.output.contains(line), "\(line) \(result.errors)")
        }
    }
}
