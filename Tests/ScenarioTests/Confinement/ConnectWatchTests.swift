// That a confined command's connections past the proxy fail where they can't be led to lupin, and
// that lupin says who tried.
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(RedirectionTests.python),
        "this machine gives users no namespaces"
    )
)
struct ConnectWatchTests {
    private func run(_ script: String) throws -> Lupin.Result {
        try RedirectionTests.run(script, options: ["--no-redirect"]).result
    }

    /// What lupin says at the end: programs and where to.
    private func told(_ result: Lupin.Result) -> [Substring] {
        let lines = result.errors.split(separator: "\n")
        let head = "lupin: these ignored the proxy variables, and could not connect:"
        guard let index = lines.firstIndex(where: { $0 == head }) else { return [] }
        return Array(lines[(index + 1)...])
    }

    @Test func `a connection past the proxy fails at once, and its program and name are told`()
        throws
    {
        let result = try run(
            #"""
            get("http://allowed.test/a"); get("https://192.0.2.7/"); get("http://192.0.2.7:443/")
            thread = threading.Thread(target=get, args=("http://thread.test/",))
            thread.start(); thread.join()
            get("http://[2001:db8::7]:81/"); get("http://[::ffff:192.0.2.8]:82/")
            """#
        )
        let failures = result.output.split(separator: "\n")
        #expect(failures.count == 6 && failures.allSatisfy { $0.contains("unreachable") })
        #expect(
            told(result) == [
                "  python3 to allowed.test:80", "  python3 to 192.0.2.7:443",
                "  python3 to thread.test:80", "  python3 to [2001:db8::7]:81",
                "  python3 to 192.0.2.8:82",
            ]
        )
    }

    @Test(arguments: [[], ["--no-redirect"]], ["True", "False"])
    func `who looks for a server outside on the loopback interface is told`(
        options: [String],
        blocks: String
    ) throws {
        let server = try PlayedOrigin()
        let free = try ReservedPort()
        let result = try RedirectionTests.run(
            """
            for port in [\(server.address.port), \(free.number)]:
                s = socket.socket(); s.setblocking(\(blocks))
                print(s.connect_ex(("127.0.0.1", port)))
            """,
            options: options
        ).result
        // One that does not wait may be told at once or later.
        #expect(result.output.split(separator: "\n").allSatisfy { $0 == "111" || $0 == "115" })
        let lines = result.errors.split(separator: "\n")
        let told = lines.filter { $0.hasPrefix("  python3 to ") }
        #expect(told == ["  python3 to 127.0.0.1:\(server.address.port)"], "\(result.errors)")
    }

    @Test func `only connections past the proxy are told`() throws {
        let result = try run(
            #"""
            direct = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
            print(direct.open("http://allowed.test/", timeout=60).read().decode())
            # A server of its own, a local socket, UDP, and no address.
            server = socket.create_server(("127.0.0.1", 0))
            socket.create_connection(server.getsockname()).close()
            for family, target in [(socket.AF_UNIX, "/absent"), (socket.AF_INET, ("0.0.0.0", 9))]:
                try: socket.socket(family).connect(target)
                except OSError as error: print(type(error).__name__)
            try: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.9", 443))
            except OSError as error: print(error.strerror)
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            for place, length in [(0, 16), (8, 16), (2**63, 16), (id(libc), 2**31), (id(libc), 1)]:
                s = socket.socket()
                failed = libc.connect(s.fileno(), ctypes.c_void_p(place), ctypes.c_uint(length))
                print(failed, ctypes.get_errno() in (14, 22))
            """#
        )
        #expect(
            result.output == """
                yes
                FileNotFoundError
                ConnectionRefusedError
                Network is unreachable
                -1 True
                -1 True
                -1 True
                -1 True
                -1 True

                """,
            "\(result.errors)"
        )
        #expect(told(result) == [])
    }

    @Test func `many programs and threads connect at once`() throws {
        let result = try run(
            #"""
            import concurrent.futures, subprocess, sys
            handler = urllib.request.ProxyHandler(proxies)
            def one(i):
                direct = urllib.request.build_opener(handler)
                return direct.open(f"http://allowed.test/{i}", timeout=60).read()
            def other(i):
                line = f"import socket; socket.socket().connect_ex(('192.0.2.{i}', 80))"
                return subprocess.run([sys.executable, "-c", line]).returncode
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                others = pool.map(other, range(25))
                print({*pool.map(one, range(200))}, {*others})
            """#
        )
        #expect(result.output == "{b'yes'} {0}\n", "\(result.errors)")
        let lines = told(result)
        #expect(lines.count == 21 && lines.last == "  and 5 more connections", "\(lines)")
    }

    @Test func `a program that is ended while it connects leaves lupin at work`() throws {
        let result = try run(
            #"""
            import signal, subprocess, sys
            line = "import socket\nwhile True: socket.socket().connect_ex(('192.0.2.1', 80))"
            for i in range(20):
                child = subprocess.Popen([sys.executable, "-c", line])
                get("http://allowed.test/")
                child.send_signal(signal.SIGKILL); child.wait()
            """#
        )
        #expect(result.code == 0 && result.output.split(separator: "\n").count == 20)
        #expect(told(result).contains("  python3 to allowed.test:80"))
    }

    @Test func `the option goes with --confine only`() throws {
        let result = try Lupin.run("exec", "--no-redirect", "--", "true")
        #expect(result.code == 64 && result.errors.contains("--no-redirect goes with --confine"))
    }
}
