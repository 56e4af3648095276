// Settings: the defaults, values of all kinds, and what is said of wrong and of later ones.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct SettingsDecoderTests {
    @Test func `the smallest file gives the defaults`() throws {
        let configuration = try configuration("")
        #expect(configuration.settings == Settings())
        #expect(configuration.rules.isEmpty)
        #expect(configuration.secrets.isEmpty)
    }

    @Test func `values arrive where they belong`() throws {
        let settings = try configuration(
            """
            workers: 2
            listen:
              - address: "[::1]:0"
              - {address: "0.0.0.0:3128", auth: none, tls: off}
            access: {clients: [10.1.2.3/8, "::1"], connect_ports: [443, 8000-8999]}
            timeouts:
              {min_rate: 1KiB/s, total: 90s, connect: 1s, tls: 2s, response_header: 3s, idle: 4s}
            limits: {body: 10MiB, client_connections: 16}
            log: {to: logs/lupin.log, headers: [Content-Type, ETag], rotate: {size: 1GiB, keep: 2}}
            """
        ).settings
        #expect(settings.workers == 2)
        #expect(
            settings.listeners == [
                ListenerSettings(address: .v6(high: 0, low: 1), port: 0),
                ListenerSettings(address: .v4(0), port: 3128),
            ]
        )
        #expect(settings.access.clients.map(\.text) == ["10.0.0.0/8", "::1/128"])
        #expect(settings.access.connectPorts == PortSet([443...443, 8000...8999]))
        #expect(settings.timeouts.minRateBytesPerSecond == 1024)
        #expect(settings.timeouts.total == .seconds(90))
        #expect(settings.timeouts.connect == .seconds(1))
        #expect(settings.timeouts.tls == .seconds(2))
        #expect(settings.timeouts.responseHeader == .seconds(3))
        #expect(settings.timeouts.idle == .seconds(4))
        #expect(settings.limits.bodyBytes == 10 << 20)
        #expect(settings.limits.clientConnections == 16)
        #expect(settings.log.to == .file("/etc/lupin/logs/lupin.log"))
        #expect(settings.log.headers == .listed(["content-type", "etag"]))
        #expect(settings.log.rotateBytes == 1 << 30)
        #expect(settings.log.rotateKeep == 2)
    }

    @Test func `deny targets are words, networks and hosts`() throws {
        let body =
            "access: {deny_targets: [private, loopback, metadata, 8.8.8.0/24, \"*.corp.dev\"]}"
        let targets = try configuration(body).settings.access.denyTargets
        #expect(targets.prefix(3) == [.privateNetwork, .loopback, .metadata])
        #expect(targets.dropFirst(3).first == CIDR("8.8.8.0/24").map { .network($0) })
        #expect(targets.last == .host(try HostPattern("*.corp.dev")))
    }

    @Test(arguments: [
        ("~/x.log", "/users/ann/x.log"), ("/var/log/x", "/var/log/x"), ("./x", "/etc/lupin/./x"),
        ("${env:DIR}/x", "/srv/x"), ("$$x/y", "/etc/lupin/$x/y"), ("no/p", "/etc/lupin/no/p"),
    ])
    func `a path starts at the file, and a tilde is the user's home`(
        path: String,
        expected: String
    ) throws {
        let settings = try configuration("log: {to: \"\(path)\"}", environment: ["DIR": "/srv"])
        #expect(settings.settings.log.to == .file(expected))
    }

    @Test func `one value alone is a list of one, and no is a text where a text is due`() throws {
        let settings = try configuration(
            "access: {clients: 10.0.0.0/8}\nlog: {redact: {query: no}}"
        ).settings
        #expect(settings.access.clients.map(\.text) == ["10.0.0.0/8"])
        #expect(settings.log.redact.query == ["no"])
    }

    @Test(arguments: ["log: off", "access: {credentials: [ann]}"])
    func `words in the place of a section and lists in that of a word count`(body: String) throws {
        #expect(try configuration(body).settings != Settings())
    }

    @Test func `an empty section is no section`() throws {
        #expect(try configuration("timeouts:\nlimits: {}\nlog:\nrules:").settings == Settings())
    }

    @Test(arguments: [
        ("workers: two", "2:10: \"two\" is not a number  [E-TYPE]", "write a number from 1 to 256"),
        ("workers: 300", "2:10: workers 300 is out of range  [E-RANGE]", "allowed: 1 to 256"),
        ("workers: -1", "2:10: workers -1 is out of range  [E-RANGE]", "allowed: 1 to 256"),
        (
            "workers: 0x10", "2:10: \"0x10\" is not a number  [E-TYPE]",
            "write a number from 1 to 256"
        ),
        ("workers:", "2:9: expected a number, found nothing  [E-TYPE]", "write auto"),
        ("upstream: {via: yes}", "2:17: \"yes\" is not a boolean  [E-TYPE]", "write true"),
        ("upstream: {via: Off}", "2:17: \"Off\" is not a boolean  [E-TYPE]", "write false"),
        ("upstream: {via: 1}", "2:17: \"1\" is not a boolean  [E-TYPE]", "write true or false"),
        (
            "timeouts: 5s", "2:11: expected a map, found \"5s\"  [E-TYPE]",
            "write timeouts: {client_idle: …, client_header: …}"
        ),
        ("timeouts: {idle: {}}", "2:18: expected a duration, found a map  [E-TYPE]", "write 10m"),
        ("timeouts: {drain: 2h}", "2:19: drain 2h is out of range  [E-RANGE]", "allowed: 0 to 1h"),
        ("timeouts: {dns: none}", "2:17: \"none\" is not a duration  [E-TYPE]", "write 500ms"),
        ("limits: {body: 5MB}", "2:16: \"5MB\" has an unknown unit  [E-TYPE]", "write 5MiB"),
        (
            "limits: {header_bytes: 1B}", "2:24: header_bytes 1B is out of range  [E-RANGE]",
            "allowed: 1KiB to 16MiB"
        ),
        (
            "log: {format: jsno}", "2:15: unknown value \"jsno\"  [E-NAME]",
            "did you mean \"json\"? allowed: auto, json, text"
        ),
        (
            "log: {to: stdot}", "2:11: unknown destination \"stdot\"  [E-NAME]",
            "did you mean \"stdout\"? allowed: stdout, stderr, a path"
        ),
        (
            "log: {headers: some}", "2:16: unknown value \"some\"  [E-NAME]",
            "allowed: none, names, all, a list"
        ),
        ("acess: {}", "2:1: unknown key \"acess\"  [E-KEY]", "did you mean \"access\"?"),
        (
            "access: {deny_targets: [link_local]}", "2:25: unknown target \"link_local\"  [E-NAME]",
            "did you mean \"link-local\"? allowed: link-local, self, private, loopback, metadata"
        ),
        (
            "access: {clients: [10.0.0.0/33]}",
            "2:20: \"10.0.0.0/33\" is not an address or a network  [E-TYPE]",
            "write 127.0.0.0/8 or \"::1\""
        ),
        (
            "access: {connect_ports: [70000]}", "2:26: port 70000 is out of range  [E-RANGE]",
            "allowed: 1 to 65535"
        ),
        ("access: {connect_ports: [9-1]}", "2:26: the range 9-1 is empty  [E-RANGE]", "write 1-9"),
        (
            "upstream: {no_proxy: [\"a b\"]}",
            "2:23: \"a b\" is not a host, an address or a network  [E-HOST]",
            "write .corp.example, 10.0.0.0/8 or host:port"
        ),
        ("listen: []", "2:9: there is no listener  [E-RANGE]", "write - address: 127.0.0.1:8080"),
        (
            "listen: 8080", "2:9: expected a list of listeners, found \"8080\"  [E-TYPE]",
            "write - address: 127.0.0.1:8080"
        ),
        (
            "listen: [{address: 8080}]", "2:20: \"8080\" is not an address with a port  [E-TYPE]",
            "write 127.0.0.1:8080"
        ),
        (
            "listen: [{address: \"localhost:80\"}]",
            "2:20: \"localhost\" is not an address  [E-HOST]",
            "write 127.0.0.1:80"
        ),
        (
            "listen: [{address: \"proxy.test:80\"}]",
            "2:20: \"proxy.test\" is not an address  [E-HOST]",
            "write an address of this machine, such as 127.0.0.1:80: names are not looked up here"
        ),
        (
            "listen: [{address: localhost}]",
            "2:20: \"localhost\" is not an address with a port  [E-TYPE]",
            "write 127.0.0.1:8080"
        ),
        (
            "listen: [{address: \"http://127.0.0.1:3128/\"}]",
            "2:20: \"http://127.0.0.1:3128/\" is a URL, not an address  [E-TYPE]",
            "write 127.0.0.1:3128"
        ),
        (
            "listen: [{address: \"::1:8080\"}]", "2:20: an IPv6 address needs brackets  [E-HOST]",
            "write \"[::1:8080]:8080\""
        ),
        (
            "listen: [{address: \"127.0.0.1:70000\"}]",
            "2:20: port 70000 is out of range  [E-RANGE]",
            "allowed: 0 to 65535"
        ),
        (
            "listen: [{address: \"0.0.0.0:80\"}]",
            "2:20: others can reach 0.0.0.0 and use the proxy  [E-BIND]",
            "write auth: none if that is meant, or an address of 127.0.0.0/8"
        ),
        (
            "listen: [{addres: \"127.0.0.1:1\"}]",
            "2:11: unknown key \"addres\" in \"listen\"  [E-KEY]",
            "did you mean \"address\"?"
        ),
        (
            "log: {to: \"~bob/x\"}", "2:11: the home of another user is not supported  [E-FILE]",
            "write the whole path"
        ),
    ])
    func `a wrong value is told with what to write`(body: String, first: String, hint: String) {
        let problems = decode(body).errors
        #expect(problems.count == 1)
        let lines = problems.first?.text.split(separator: "\n") ?? []
        #expect(lines.first.map(String.init) == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `two listeners cannot have one address`() {
        #expect(
            errors("listen:\n- address: 127.0.0.1:80\n- address: 127.0.0.1:80") == """
                lupin.yaml:4:3: the address is in use: another listener has it  [E-BIND]
                    - address: 127.0.0.1:80
                      ^^^^^^^  first on line 3
                """
        )
    }

    @Test(arguments: ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"])
    func `loopback needs no word about authentication`(address: String) throws {
        _ = try configuration("listen: [{address: \"\(address)\"}]")
    }

    @Test(arguments: ["10.0.0.1:1", "[::]:1", "[2002:7f00:1::]:1", "[64:ff9b::7f00:1]:1"])
    func `every other address does`(address: String) throws {
        #expect(decode("listen: [{address: \"\(address)\"}]").errors.map(\.code) == [.bind])
        _ = try configuration("listen: [{address: \"\(address)\", auth: none}]")
    }

    @Test func `the version is required and known`() {
        #expect(
            decodeWhole("workers: 2").errors.report() == """
                lupin.yaml:1:1: the file does not say the version of its format  [E-KEY]
                    workers: 2
                    ^  write lupin: 1 as its first line
                """
        )
        #expect(decodeWhole("lupin: 2").errors.map(\.code) == [.range])
        #expect(decodeWhole("lupin: [1]").errors.map(\.code) == [.type])
        #expect(decodeWhole("just text").errors.map(\.code) == [.type])
    }

    @Test(arguments: [
        "log: {bodies: off, har: off, sync: off}",
        "log: {level: exchange}", "admin: {http: off}",
        "tokens: {}\nretry: {}\ntrust: {}\ncache: {}", "tokens:",
    ])
    func `keys of later versions are accepted where they ask for nothing`(body: String) throws {
        #expect(try configuration(body).settings == Settings())
    }

    @Test(arguments: [
        ("log: {bodies: {max: 4KiB}}", "bodies", "logging of bodies"),
        ("log: {har: x.har}", "har", "a log in this form"),
        ("log: {sync: on}", "sync", "waiting for the log"),
    ])
    func `keys of later versions say so`(body: String, subject: String, what: String) {
        let problems = decode(body).errors
        #expect(problems.map(\.code) == [.unavailable])
        #expect(
            problems.first?.message
                == "\"\(subject)\" is not available yet: \(what) arrives in a later version"
        )
        #expect(
            problems.first?.hint?.contains("lupin har export") == (subject == "har" ? true : nil)
        )
        let problem = problems.first
        let marked = problem.map { $0.excerpt.dropFirst($0.caretOffset).prefix($0.caretCount) }
        #expect(marked.map(String.init) == subject)
    }
}
