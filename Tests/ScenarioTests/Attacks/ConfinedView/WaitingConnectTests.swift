// That connections which wait for a server, however many, keep no other one, and end as without a
// confinement.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(SmallInternet.python),
        "this machine gives users no namespaces, or has no Python"
    ),
    .timeLimit(.minutes(20))
)
struct WaitingConnectTests {
    private static let head = #"""
        import signal, struct
        # The threads of tests block all.
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        def full(path):
            s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen(0)
            first = socket.socket(socket.AF_UNIX); first.connect(path); return s, first
        def wait(family, address, results):
            s = socket.socket(family)
            try: s.connect(address); results.append("reached")
            except OSError as error: results.append(os.strerror(error.errno))
            results.append(s)
        def begin(count, family, address, results):
            for _ in range(count):
                threading.Thread(target=wait, args=(family, address, results), daemon=True).start()
        def end(): sys.stdout.flush(); os._exit(0)

        """#

    private func lines(_ script: String) throws -> [Substring] {
        let fixture = try SocketFixture()
        return try withExtendedLifetime(fixture.folder) {
            try SocketFixture.run(fixture.command(Self.head + script))
        }
    }

    @Test func `a full server of either kind keeps nobody from others`() throws {
        let lines = try lines(
            #"""
            slow, first = full("slow"); quick = listen("quick")
            tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen(0)
            results = []
            begin(150, socket.AF_UNIX, "slow", results)
            begin(150, socket.AF_INET, tcp.getsockname(), results)
            server = socket.create_server(("127.0.0.1", 0))
            for _ in range(20):
                assert reach("quick") == "reached"
                with socket.create_connection(server.getsockname()): server.accept()
            proxy = os.environ["http_proxy"].rsplit(":", 1)[1].strip("/")
            socket.create_connection(("127.0.0.1", int(proxy))).close()
            say("others", results.count("reached") < 150)
            results = []; begin(100, socket.AF_UNIX, "slow", results)
            slow.settimeout(0.1)
            while results.count("reached") < 100:
                try: slow.accept()
                except TimeoutError: pass
            say(results.count("reached")); end()
            """#
        )
        #expect(lines == ["others True", "100"])
    }

    @Test func `who waits is reached in the end, or told that the server has gone`() throws {
        let lines = try lines(
            #"""
            slow, first = full("slow"); results = []
            begin(80, socket.AF_UNIX, "slow", results)
            time.sleep(0.1); say(len(results))
            for _ in range(41): slow.accept()
            while results.count("reached") < 41: time.sleep(0.01)
            slow.close()
            while len(results) < 160: time.sleep(0.01)
            say(results.count("reached"), results.count("Connection refused")); end()
            """#
        )
        #expect(lines == ["0", "41 39"])
    }

    @Test func `a time limit ends a wait, and one that waits not is told at once`() throws {
        let lines = try lines(
            #"""
            slow, first = full("slow")
            s = socket.socket(socket.AF_UNIX)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000))
            begun = time.monotonic()
            try: s.connect("slow")
            except OSError as error: say(os.strerror(error.errno))
            say(time.monotonic() - begun >= 0.19)
            say(struct.unpack("ll", s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)))
            say(os.get_blocking(s.fileno()))
            s.setblocking(False)
            try: s.connect("slow")
            except OSError as error: say(os.strerror(error.errno))
            """#
        )
        let unavailable: Substring = "Resource temporarily unavailable"
        #expect(lines == [unavailable, "True", "(0, 200000)", "True", unavailable])
    }

    /// SA_RESTART is siginterrupt(False).
    @Test func `a signal ends a wait, or lets it go on, as the program wants`() throws {
        let lines = try lines(
            #"""
            slow, first = full("slow")
            class Alarm(Exception): pass
            def ring(number, frame): raise Alarm()
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            s = socket.socket(socket.AF_UNIX)
            try: s.connect("slow"); say("reached")
            except Alarm: say("rung")
            got = []
            signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
            signal.siginterrupt(signal.SIGUSR1, False)
            parent = os.getpid()
            if os.fork() == 0:
                time.sleep(0.1); os.kill(parent, signal.SIGUSR1)
                time.sleep(0.2); slow.accept(); time.sleep(600)
            libc = ctypes.CDLL(None, use_errno=True)
            # One that is not repeated by Python.
            code = libc.connect(s.fileno(), b"\1\0slow\0", 7)
            say(code, got == [signal.SIGUSR1]); end()
            """#
        )
        #expect(lines == ["rung", "0 True"])
    }

    @Test func `who ends while it waits takes no place`() throws {
        let lines = try lines(
            #"""
            slow, first = full("slow"); children = []
            for _ in range(20):
                child = os.fork()
                if child == 0: reach("slow"); os._exit(0)
                children.append(child)
            time.sleep(0.1)
            for child in children: os.kill(child, 9)
            for child in children: os.waitpid(child, 0)
            time.sleep(0.1)
            slow.accept(); slow.settimeout(0.3)
            try: slow.accept(); say("another")
            except TimeoutError: say("none")
            say(reach("slow"))
            """#
        )
        #expect(lines == ["none", "reached"])
    }
}
