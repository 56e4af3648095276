// Files and tables: rules, units, passwords, certificates in text, sockets of the kernel.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

enum FileTargets {
    static let all = [units, rules, hostList, passwords, socketTable, routes, pem]

    static let pem = FuzzTarget(
        "pem",
        seeds: [
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            "remark\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
                + "-----END RSA PRIVATE KEY-----\n", "0\u{80}", "0\u{84}\u{FF}\u{FF}\u{FF}\u{FF}",
        ],
        words: ["-----BEGIN ", "-----END ", "-----", "CERTIFICATE", "ENCRYPTED ", "0\u{82}"]
    ) { input in
        let blocks = PEM.blocks(in: text(input))
        let certificates = PEM.certificates(in: input)
        try hold(certificates?.isEmpty != true, "a file without certificates holds none")
        return "\(blocks.map { size($0.count) } ?? "nil") \(told(certificates))"
    }

    static let hostList = FuzzTarget(
        "host-list",
        seeds: [
            "# ads\n0.0.0.0 ads.dev t.dev # both\n::1 localhost\nfe80::1%lo0 a.dev\r\n",
            "a.dev\n*.b.dev\n**.c.dev\n/^d/\n127.0.0.1\n[::1]\nm\u{FC}nchen.dev\n",
            "\u{FEFF}a.dev b.dev\n\n\t\n#\n.\n-\n",
        ],
        words: ["0.0.0.0 ", "::1 ", "#", "**.", "*.", "\n", "\r\n", "\t", "localhost", ".", "xn--"]
    ) { input in
        var reader = HostListReader(Array(input))
        reader.read()
        let list = reader.list
        let lines = input.count { $0 == 0x0A } + 1
        for problem in reader.problems {
            try hold(
                (1...lines).contains(problem.location.line),
                "a problem is in a line of the file"
            )
        }
        for line in input.split(separator: 0x0A) {
            let words = line.prefix { $0 != 0x23 }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard words.count == 1, let host = try? Host(parsing: Array(words[0]).span) else {
                continue
            }
            try hold(list.contains(host), "a host with a line of its own is listed")
        }
        return "hosts \(size(list.count)) problems \(size(reader.problems.count))"
    }

    static let units = FuzzTarget(
        "units",
        seeds: ["500ms", "7d", "64KiB", "5MiB/s", "1000/30s", "20%", "99999999999d", "0"],
        words: ["ms", "s", "m", "h", "d", "B", "KiB", "TiB", "/s", "/", "%"]
    ) { input in
        let text = text(input)
        let duration = try? Units.duration(text)
        try hold(duration ?? 0 >= 0, "a duration is not negative")
        let size = try? Units.size(text)
        try hold(size ?? 0 >= 0, "a size is not negative")
        let rate = try? Units.rate(text)
        try hold(rate ?? 1 > 0, "a rate is positive")
        let share = try? Units.percent(text)
        try hold((0...100).contains(share ?? 0), "a share is one of 100")
        let count = try? Units.countInTime(text)
        try hold(count?.count ?? 0 >= 0, "a count is not negative")
        return [duration == nil, size == nil, rate == nil, share == nil, count == nil]
            .map { $0 ? "-" : "+" }.joined()
    }

    static let rules = FuzzTarget(
        "rules-file",
        seeds: [
            "lupin: 1\nlisten: 127.0.0.1:3128\nrules:\n  - match: a.dev\n    block: true\n",
            "lupin: 1\ntimeouts: {connect: 5s, idle: 99999999999d}\n"
                + "limits: {header_bytes: 64KiB}\n",
            "lupin: 1\nrules:\n  - name: a\n"
                + "    match: {host: '*.a.dev', path: '/x/**', port: 8443}\n"
                + "    respond: {status: 418, body: no}\n",
            "lupin: 1\ncache:\n  a: {ttl: 5m, heuristic: 10%}\n"
                + "rules:\n  - match: a\n    cache: a\n",
            "lupin: 1\nretry:\n  a: {limit: 3, backoff: {base: 2.5, scale: 1s, max: 1m}}\nrules:\n"
                + "  - match: {host: /^a(b)$/}\n    retry: a\n    throttle: {down: 64KiB/s}\n",
            "lupin: 1\ntokens:\n  a: {oauth2: {url: https://id.dev/t, client_id: b}}\nx: &a [*a]\n",
            "lupin: 1\nrules:\n  - match: a.dev\n"
                + "    validate: {status: [200-299, 304], size: 1..5}\n"
                + "    set: {x-a: '${env:A}'}\n",
        ],
        words: [
            "\n  ", "\n- ", ": ", "{", "}", "[", "]", "&a ", "*a", "!!int ", "|\n", "<<: ",
            "${env:A}", "'", "status: ", "limit: ", "5s", "10%", "64KiB", "port: ",
        ],
        roundsInTests: 15
    ) { input in
        let surroundings = Surroundings(
            environment: ["A": "b"],
            home: "/users/a",
            directory: "/etc/lupin",
            readFile: { _ throws(FileProblem) in throw FileProblem("there is no such file") }
        )
        let result = RulesFile.decode(bytes: input, fileName: "a.yaml", surroundings: surroundings)
        try hold((result.configuration == nil) == !result.errors.isEmpty, "no errors, no refusal")
        let report = result.errors.report(limit: 5)
        try hold(result.errors.isEmpty == report.isEmpty, "every error is told")
        return result.errors.first?.code.rawValue ?? "fine"
    }

    static let passwords = FuzzTarget(
        "password-file",
        seeds: [
            "ann:$2y$10$abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUVWXYZabcde\n",
            "# people\nbob:$6$rounds=5000$salt$"
                + String(repeating: "a", count: 86) + "\n", "a:b", "a:$apr1$x$y",
            "ann:$6$rounds=18446744073709551616$salt$x\n",
        ],
        words: ["$2y$", "$6$", "rounds=", "$5$", ":", "\n", "$apr1$"]
    ) { input in
        do throws(PasswordFile.Unusable) {
            let file = try PasswordFile(input)
            return "file \(told(file.user("ann")))"
        } catch {
            try hold(
                (1...PasswordFile.problemsMax + 1).contains(error.problems.count),
                "a refusal says why"
            )
            return "problems \(size(error.problems.count))"
        }
    }

    static let socketTable = FuzzTarget(
        "socket-table",
        seeds: [
            "   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000 "
                + "       0 12345 1 0000000000000000 20 4 30 10 -1\n",
            "  sl  local_address rem_address\n 1: 00000000000000000000000001000000:1F90 "
                + "00000000000000000000000001000000:C350 01 0:0 00:0 0 1000 0 9 1\n",
        ],
        words: ["0100007F:1F90 ", ":", " ", "FFFFFFFF", "\n"]
    ) { input in
        let local = SocketAddress(address: .v4(0x7F00_0001), port: 8080)
        let remote = SocketAddress(address: .v4(0x7F00_0001), port: 50000)
        let found = SocketTableEntry.find(in: input, local: local, remote: remote)
        if let found {
            try hold(found.inode != 0 && found.local == local, "what is found was asked for")
        }
        let entry = SocketTableEntry(line: input[...])
        return "\(told(found)) \(told(entry))"
    }

    static let routes = FuzzTarget(
        "routes",
        seeds: [
            "Iface\tDestination\tGateway\neth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\n",
            "Iface\neth0\t00000080\t0\t0001\t0\t0\t0\t00000080\t0\n"
                + "eth0\t0\t0\t1\t0\t0\t0\t00000080",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
                + "00000000000000000000000000000000 00000400 00000001 00000000 00000003 eth0\n",
        ],
        words: ["Iface", "eth0", "00000000", "FFFFFFFF", "lo"]
    ) { input in
        let ipv4 = NetworkRoutes.hasDefault(ipv4: input, ipv6: nil)
        let ipv6 = NetworkRoutes.hasDefault(ipv4: Array("Iface\n".utf8), ipv6: input)
        return "\(ipv4) \(ipv6)"
    }
}
