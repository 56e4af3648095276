// That a confined command reaches the unix sockets of its own network, and no others, whatever
// their names are and were.
import Foundation
import Glibc
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(SmallInternet.python),
        "this machine gives users no namespaces, or has no Python"
    )
)
struct LocalSocketTests {
    @Test func `sockets of its own are reached as without a confinement`() throws {
        let fixture = try SocketFixture()
        let lines = try SocketFixture.run(
            fixture.command(
                #"""
                servers = []
                for kind in [socket.SOCK_STREAM, socket.SOCK_SEQPACKET]:
                    for path in ["own", "sub/own", "/tmp/own", "\0abstract"]:
                        path += str(int(kind))
                        servers.append(listen(path, kind))
                        say(reach(path, kind))
                say(reach(os.getcwd() + "/own1"))
                os.symlink("own1", "link"); say(reach("link"))
                os.symlink("/tmp", "tmp"); say(reach("tmp/own1"))
                os.rename("own1", "sub/new"); say(reach("sub/new"))
                os.rename("sub", "other"); say(reach("other/new")); say(reach("sub/new"))
                os.chdir("other"); say(reach("new"), reach("../other/new"), reach("./new"))
                os.link("new", "../hard"); say(reach("../hard"))
                os.mkdir("ünï"); servers.append(listen("ünï/ß")); say(reach("ünï/ß"))
                say(reach("none"), "-", reach("../other"))
                say(reach("/tmp/own5", socket.SOCK_STREAM))
                servers[0].close(); say(reach("new"))
                a, b = socket.socketpair(); a.send(b"x"); say(b.recv(1))
                folder = os.open(".", os.O_RDONLY)
                deep = f"/proc/self/fd/{folder}/deep"
                servers.append(listen(deep)); say(reach(deep)); say(reach(f"/dev/fd/{folder}/deep"))
                """#
            )
        )
        #expect(
            lines == Array(repeating: "reached", count: 13) + [
                "No such file or directory", "reached reached reached", "reached", "reached",
                "No such file or directory - Connection refused", "Protocol wrong type for socket",
                "Connection refused", "b'x'", "reached", "reached",
            ]
        )
    }

    @Test func `the links of proc mean the caller's own`() throws {
        let fixture = try SocketFixture()
        let lines = try SocketFixture.run(
            fixture.command(
                #"""
                server, here, own = listen("own"), os.getcwd(), os.getpid()
                folder = os.open("sub", os.O_RDONLY)
                os.symlink("/proc/self/cwd", "link"); os.symlink("/proc/thread-self", "sub/thread")
                for path in [
                    "/proc/self/cwd/own", "/proc/self/root" + here + "/own",
                    "//proc/./self/cwd/own",
                    "/proc/thread-self/cwd/own", "/proc/thread-self/root" + here + "/own",
                    f"/proc/{own}/cwd/own", f"/proc/self/task/{threading.get_native_id()}/cwd/own",
                    f"/proc/self/fd/{folder}/../own", "link/own", "sub/thread/cwd/own",
                    "/proc/self/root/proc/self/cwd/own", "/proc/self/cwd/sub/../own",
                    "/proc/self/cwd/none",
                    "/proc/1/cwd/own", "/proc/self/none/own",
                ]: say(reach(path))
                """#
            )
        )
        #expect(lines.prefix(12) == ArraySlice(repeating: "reached", count: 12), "\(lines)")
        #expect(lines.count == 15 && !lines.suffix(3).contains("reached"), "\(lines)")
    }

    @Test func `sockets of its own are reached from another root`() throws {
        let fixture = try SocketFixture()
        let lines = try SocketFixture.run(
            fixture.command(
                #"""
                os.makedirs("jail/below")
                if ctypes.CDLL(None).unshare(0x10000000): raise SystemExit("no namespaces")
                os.chroot("jail"); os.chdir("/below")
                servers = [listen("/own"), listen("near")]
                say(reach("/own"), reach("near"), reach("/below/near"), reach("none"))
                """#
            )
        )
        #expect(lines == ["reached reached reached No such file or directory"])
    }

    @Test func `who waits for a server keeps nobody from others`() throws {
        let fixture = try SocketFixture()
        let lines = try SocketFixture.run(
            fixture.command(
                #"""
                slow, quick = listen("slow"), listen("quick")
                slow.listen(0)
                clients = []
                def connect():
                    s = socket.socket(socket.AF_UNIX); s.connect("slow"); clients.append(s)
                threads = [threading.Thread(target=connect) for _ in range(32)]
                for thread in threads: thread.start()
                say(reach("quick"))
                server = socket.create_server(("127.0.0.1", 0))
                with socket.create_connection(server.getsockname()) as s:
                    s.send(b"z"); say(server.accept()[0].recv(1))
                s = socket.socket(socket.AF_UNIX); s.setblocking(False)
                while True:
                    try: s.connect("slow"); s = socket.socket(socket.AF_UNIX); s.setblocking(False)
                    except BlockingIOError: say("full"); break
                for _ in threads: slow.accept()
                for thread in threads: thread.join()
                say(len(clients))
                """#
            )
        )
        #expect(lines == ["reached", "b'z'", "full", "32"])
    }

    @Test func `sockets outside are reached by no name`() throws {
        let fixture = try SocketFixture()
        let names = ["work/there", "work/sub/known", "work/moved/in", "shown/there", "work/linked"]
        try FileManager.default.createDirectory(
            atPath: "\(fixture.work)/moved",
            withIntermediateDirectories: false
        )
        let doors = try names.map { try LocalDoor("\(fixture.folder.path)/\($0)") }
        // Known to the kernel by names that there are no more.
        doors[1].rename(to: "\(fixture.work)/sub/new")
        let files = FileManager.default
        try files.moveItem(atPath: "\(fixture.work)/moved", toPath: "\(fixture.work)/gone")
        try files.linkItem(atPath: "\(fixture.work)/linked", toPath: "\(fixture.work)/second")
        let elsewhere = try listenElsewhere(in: fixture.work)
        defer { kill(elsewhere.processIdentifier, SIGKILL) }
        let command = fixture.command(
            #"""
            say("ready"); sys.stdin.readline()
            here = os.getcwd() + "/there"
            places = [
                "there", here, "sub/new", "gone/in", "../shown/there", "linked", "second", "else",
                "later", "./sub/../there", "/proc/self/cwd/there",
                f"/proc/{os.getpid()}/root{here}", f"/proc/1/root{here}",
                f"/proc/thread-self/root{here}", f"/proc/self/fd/{os.open('.', 0)}/there",
            ]
            os.symlink("there", "link"); places.append("link")
            os.symlink(os.getcwd(), "/tmp/folder"); places.append("/tmp/folder/there")
            os.rename("second", "taken"); places.append("taken")
            os.link("linked", "third")
            # A name that one of its own had.
            own = listen("own"); os.unlink("own"); os.rename("third", "own"); places.append("own")
            for path in places: say(path, reach(path) != "reached")
            for make in [socket.socket, socket.socketpair]:
                for kind in [socket.SOCK_DGRAM, socket.SOCK_RAW]:
                    try: make(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC); say("made")
                    except OSError as error: say(os.strerror(error.errno))
            """#
        )
        let (input, output) = (Pipe(), Pipe())
        command.standardInput = input
        command.standardOutput = output
        try command.run()
        #expect(output.fileHandleForReading.readData(ofLength: 6) == Data("ready\n".utf8))
        let later = try LocalDoor("\(fixture.work)/later")
        input.fileHandleForWriting.write(Data("go\n".utf8))
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        command.waitUntilExit()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 23)
        #expect(lines.prefix(19).filter { !$0.hasSuffix(" True") } == [])
        #expect(lines.suffix(4).allSatisfy { $0 == "Socket type not supported" })
        for door in doors + [later] { #expect(!door.isReached, "\(door.path)") }
    }

    /// A program that listens at `else`, in a network of its own, as containers do.
    private func listenElsewhere(in folder: String) throws -> ChildProgram {
        let script = SocketFixture.head + "s = listen('else'); say(1); time.sleep(600)"
        let words = ["-rn", SmallInternet.python, "-c", script]
        let process = Lupin.process("/usr/bin/unshare", words, in: folder)
        let ready = Pipe()
        process.standardOutput = ready
        try process.run()
        #expect(ready.fileHandleForReading.readData(ofLength: 1) == Data("1".utf8))
        return process
    }

    @Test func `an address and a socket that change under way lead nowhere else`() throws {
        let fixture = try SocketFixture()
        let door = try LocalDoor("\(fixture.work)/out")
        let lines = try SocketFixture.run(
            fixture.command(
                #"""
                libc = ctypes.CDLL(None, use_errno=True)
                own = listen("own"); own.setblocking(False)
                memory = ctypes.create_string_buffer(b"\1\0own\0", 6)
                spare, tcp = socket.socket(socket.AF_UNIX), socket.socket()
                victim = os.dup(spare.fileno())
                isOver = False
                def flip():
                    name = (ctypes.c_char * 4).from_buffer(memory, 2)
                    while not isOver: name[0:4] = b"out\0"; name[0:4] = b"own\0"
                def swap():
                    while not isOver:
                        os.dup2(spare.fileno(), victim); os.dup2(tcp.fileno(), victim)
                for work in [flip, swap]: threading.Thread(target=work, daemon=True).start()
                for _ in range(300):
                    with socket.socket(socket.AF_UNIX) as s:
                        s.setblocking(False)
                        libc.connect(s.fileno(), memory, 6); libc.connect(victim, memory, 6)
                    try:
                        while True: own.accept()[0].close()
                    except OSError: pass
                isOver = True
                say("tried")
                """#
            )
        )
        #expect(lines == ["tried"])
        #expect(!door.isReached)
    }

    @Test func `a socket that is given is reached, and no other beside it`() throws {
        let fixture = try SocketFixture()
        let given = try LocalDoor("\(fixture.shown)/given")
        let other = try LocalDoor("\(fixture.shown)/other")
        let script = #"""
            for name in ["given", "other"]: say(reach("../shown/" + name) == "reached")
            """#
        let lines = try SocketFixture.run(fixture.command(script, ["--show", given.path]))
        #expect(lines == ["True", "False"])
        #expect(given.isReached && !other.isReached)
    }

    /// Where another program is asked about system calls already, as in some containers.
    @Test func `without a watch there are no unix sockets but pairs`() throws {
        let fixture = try SocketFixture()
        let door = try LocalDoor("\(fixture.work)/out")
        let inner = """
            import socket
            a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
            try: socket.socket(socket.AF_UNIX).connect("out")
            except OSError as error: print(error.strerror)
            """
        let script = #"""
            import platform, struct, subprocess
            libc = ctypes.CDLL(None, use_errno=True)
            # Asks about acct(2), of which nobody has need; PR_SET_NO_NEW_PRIVS first.
            seccomp, acct = (317, 163) if platform.machine() == "x86_64" else (277, 89)
            steps = [(0x20, 0, 0, 0), (0x15, 0, 1, acct)]
            steps += [(6, 0, 0, 0x7fc00000), (6, 0, 0, 0x7fff0000)]
            code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps), 32)
            program = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
            libc.prctl(38, 1, 0, 0, 0)
            watch = libc.syscall(seccomp, 1, 8, program)
            found = subprocess.run(sys.argv[1:], capture_output=True, text=True)
            print(watch >= 0); print(found.stdout + found.stderr)
            """#
        let confined = [Lupin.path, "exec", "--confine", "--", SmallInternet.python, "-c", inner]
        let words = ["-c", SocketFixture.head + script] + confined
        let process = Lupin.process(SmallInternet.python, words, in: fixture.work)
        process.environment?["XDG_RUNTIME_DIR"] = "\(fixture.folder.path)/none"
        let lines = try SocketFixture.run(process)
        let message = "lupin: error: the kernel asks nobody about connections: no unix sockets "
        #expect(lines.prefix(3) == ["True", "b'x'", "Permission denied"], "\(lines)")
        #expect(lines.contains { $0.hasPrefix(message) })
        #expect(!door.isReached)
    }
}
