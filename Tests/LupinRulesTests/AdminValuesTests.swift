// Where a running lupin can be asked, as the file says it.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct AdminValuesTests {
    private let token = "0123456789abcdef-._~+/="

    @Test(arguments: [
        ("auto", AdminSettings.Socket.automatic), ("off", .off),
        ("/run/l.sock", .path("/run/l.sock")),
        ("my.sock", .path("/etc/lupin/my.sock")), ("~/l.sock", .path("/users/ann/l.sock")),
    ])
    func `a socket is auto, off or a path`(value: String, socket: AdminSettings.Socket) throws {
        let settings = try configuration("admin: {socket: \(value), history: 7}").settings.admin
        #expect(settings.socket == socket)
        #expect(settings.history == 7)
    }

    @Test func `http has an address and a token, which is a secret`() throws {
        let file = FileContents(bytes: Array("\(token)\n".utf8))
        let body = "admin: {http: {address: 127.0.0.1:9090, token: \"${file:admin.token}\"}}"
        let made = try configuration(body, files: ["/etc/lupin/admin.token": file])
        #expect(
            made.settings.admin.http
                == AdminHTTPSettings(address: .v4(0x7F00_0001), port: 9090, token: token)
        )
        #expect(made.secrets.contains(token))
        #expect(try configuration("admin: {http: off}").settings.admin.http == nil)
    }

    @Test(arguments: [
        ("{socket: of}", Diagnostic.Code.name, "unknown value \"of\""),
        ("{socket: [a]}", .type, "expected auto, off or a path, found a list"),
        ("{history: -1}", .range, "history -1 is out of range"),
        ("{http: on}", .type, "expected a map, found \"on\""),
        ("{http: {token: 0123456789abcdef}}", .key, "\"http\" has no \"address\""),
        ("{http: {address: 127.0.0.1:1}}", .key, "\"http\" has no \"token\""),
        (
            "{http: {address: 127.0.0.1:1, token: short}}", .range,
            "a token has 16 characters at least"
        ),
        (
            "{http: {address: 127.0.0.1:1, token: \"0123456789 abcdef\"}}", .type,
            "a token is made of letters, digits and -._~+/="
        ),
        ("{http: {address: here:1, token: 0123456789abcdef}}", .host, "\"here\" is not an address"),
        (
            "{http: {address: 127.0.0.1:1, token: 0123456789abcdef, tls: 1}}", .key,
            "unknown key \"tls\" in \"admin.http\""
        ),
    ])
    func `what will not do is told`(value: String, code: Diagnostic.Code, message: String) {
        let problems = decode("admin: \(value)").errors
        #expect(problems.map(\.code) == [code])
        #expect(problems.map(\.message) == [message])
    }

    @Test func `a file with errors still says where its lupin can be told of them`() {
        let result = decode("admin: {socket: /run/l.sock}\nnonsense: 1")
        #expect(result.configuration == nil)
        #expect(result.admin.socket == .path("/run/l.sock"))
    }

    @Test(arguments: [
        (
            ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_STATE_HOME": "/s"], "/run/user/1/lupin.sock",
            false
        ),
        (["XDG_RUNTIME_DIR": "relative", "XDG_STATE_HOME": "/s"], "/s/lupin/lupin.sock", true),
        ([:], "/users/ann/.local/state/lupin/lupin.sock", true),
    ])
    func `the usual place follows the user's folders`(
        environment: [String: String],
        path: String,
        isOurs: Bool
    ) {
        let endpoint = AdminSettings().endpoint(environment: environment, home: "/users/ann")
        #expect(endpoint == AdminSettings.Endpoint(path: path, isDirectoryOurs: isOurs))
        #expect(AdminSettings().endpoint(environment: [:], home: nil) == nil)
    }
}
