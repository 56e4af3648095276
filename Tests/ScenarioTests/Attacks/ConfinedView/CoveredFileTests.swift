// That what is covered where a confined command may write stays so, in any tree of mounts.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(SmallInternet.python),
        "this machine gives users no namespaces, or has no Python"
    )
)
struct CoveredFileTests {
    /// A working folder `given`, with the rules in a folder below it or beside it.
    private struct Place {
        private let base: Folder
        let work: String
        let rules: String

        init(rulesIn folder: String) throws {
            base = try Folder()
            let path = try #require(PublicFile.target(of: base.path))
            work = "\(path)/given"
            rules = "\(path)/\(folder)/own.yaml"
            for folder in ["given/open", folder, "person/.sbt/credentials/inner"] {
                try WholeFile.makeDirectories("\(path)/\(folder)")
            }
            try WholeFile.write(Array(Self.text.utf8), to: rules)
            try WholeFile.write(
                Array("planted-s3cret\n".utf8),
                to: "\(path)/person/.sbt/credentials/inner/file"
            )
            home = "\(path)/person"
        }

        let home: String
        static let text = "lupin: 1\nintercept: {mode: none}\n# planted-s3cret\n"

        func run(
            _ script: String,
            _ words: String...,
            options: [String] = []
        ) throws -> Lupin.Result {
            try Lupin.run(
                ["exec", "--confine", "--rules", rules, "--log", "/dev/null"] + options + ["--"]
                    + [SmallInternet.python, "-c", script] + words,
                environment: ["HOME": home, "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"],
                in: work
            )
        }
    }

    /// Defines `other(way)`, after which a folder that was open before is changed from another tree
    /// of mounts, and `changes`, each way to change a file or its folder.
    private static let ways = #"""
        import ctypes, os, platform, signal, socket, sys
        libc = ctypes.CDLL(None, use_errno=True)
        arm = platform.machine() == "aarch64"
        USER, MOUNTS, PROCESSES = 0x10000000, 0x20000, 0x20000000
        def done(result):
            if result != 0: raise OSError(ctypes.get_errno(), "refused")
        def call(x86, aarch, *words): return libc.syscall(aarch if arm else x86, *words)
        def be(what=USER | MOUNTS):
            user, group = os.getuid(), os.getgid()
            done(libc.unshare(what))
            map(user, group)
        def map(user, group):
            with open("/proc/self/setgroups", "w") as file: file.write("deny")
            with open("/proc/self/uid_map", "w") as file: file.write(f"{user} {user} 1")
            with open("/proc/self/gid_map", "w") as file: file.write(f"{group} {group} 1")
        def pivot():
            done(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
            os.makedirs("/tmp/old"); os.chdir("/tmp")
            done(call(155, 41, b"/tmp", b"/tmp/old"))
            os.chdir("/"); done(libc.umount2(b"/old", 2))
        def pivots(): be(); pivot()
        def twice(): be(); be(); pivot()
        def user_first(): be(USER); done(libc.unshare(MOUNTS)); pivot()
        def root_away(): be(); done(libc.umount2(b"/", 2))
        def parent_away(): be(); done(libc.umount2(os.path.dirname(os.getcwd()).encode(), 2))
        def shared():
            be(); libc.mount(b"none", b"/", None, 0x104000, None); pivot()
        def moved():
            be()
            done(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
            done(libc.mount(b"/tmp", b"/", None, 0x2000, None)); os.chroot(".")
        def beneath():
            be()
            tree = call(428, 428, -100, b"/tmp", 1)
            done(call(429, 429, tree, b"", -100, b"/", 0x204)); done(libc.umount2(b"/", 2))
        def tree():
            be()
            fd = call(428, 428, -100, b"/tmp", 2)
            if fd < 0: raise OSError("refused")
            done(libc.setns(fd, MOUNTS))
        def passed():
            # Another process leaves the mounts, and gets the folder from this one.
            global folder
            ours, theirs = socket.socketpair()
            child = os.fork()
            if child:
                socket.send_fds(ours, [b"x"], [folder])
                os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            pivots()
            folder = socket.recv_fds(theirs, 1, 1)[1][0]
        def entered():
            # A namespace of an earlier process, which left the mounts there.
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                try: pivots(); os.write(write, b"x"); signal.pause()
                except BaseException: os.write(write, b"e")
                os._exit(1)
            if os.read(read, 1) != b"x": raise OSError("refused")
            handle = os.pidfd_open(child)
            done(libc.setns(handle, USER)); done(libc.setns(handle, MOUNTS))
        def cloned():
            # clone3(2), whose flags lie in memory.
            words = (ctypes.c_uint64 * 8)(USER | MOUNTS, 0, 0, 0, 17, 0, 0, 0)
            born(lambda: call(435, 435, words, 64))
        def old_clone(): born(lambda: call(56, 220, USER | MOUNTS | 17, 0, 0, 0, 0))
        def born(make):
            user, group = os.getuid(), os.getgid()
            child = make()
            if child < 0: raise OSError("refused")
            if child: os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            map(user, group); pivot()
        def same(): pass
        def chrooted(): be(USER); os.chroot("open")
        ways = [same, chrooted, pivots, twice, user_first, root_away, parent_away, shared, moved,
            beneath, tree, passed, entered, cloned, old_clone]
        path, name = os.path.split(sys.argv[1])
        def new(text="lupin: 1\n"):
            fd = os.open("mine", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder)
            os.write(fd, text.encode()); os.close(fd)
        def replaces(): new(); os.rename("mine", name, src_dir_fd=folder, dst_dir_fd=folder)
        def exchanges():
            new(); done(call(316, 276, folder, b"mine", folder, name.encode(), 2))
        def removes(): os.unlink(name, dir_fd=folder)
        def moves(): os.rename(name, "open/taken", src_dir_fd=folder, dst_dir_fd=folder)
        def links(): new(); os.link("mine", name, src_dir_fd=folder, dst_dir_fd=folder)
        def writes(): os.write(os.open(name, os.O_WRONLY, dir_fd=folder), b"x")
        def moves_folder():
            os.rename(path, "elsewhere", src_dir_fd=top, dst_dir_fd=top)
        changes = [replaces, exchanges, removes, moves, links, writes, moves_folder]
        try: os.chmod(path or ".", 0o755)
        except OSError: pass
        for way in ways:
            for change in changes:
                child = os.fork()
                if child == 0:
                    top = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
                    folder = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
                    try: way(); change()
                    except BaseException: os._exit(1)
                    os._exit(0)
                isOpen = os.waitpid(child, 0)[1] == 0
                print("OPEN" if isOpen else "kept", way.__name__, change.__name__, flush=True)
        """#

    @Test(arguments: ["given", "given/ci", "given/closed"])
    func `no tree of mounts gives what is covered, to be changed or moved`(folder: String) throws {
        let place = try Place(rulesIn: folder)
        if folder == "given/closed" {
            // Its owner changes that.
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o555],
                ofItemAtPath: "\(place.work)/closed"
            )
        }
        let name = place.rules.dropFirst(place.work.count + 1)
        let result = try place.run(Self.ways, String(name))
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 15 * 7, "\(result.errors)")
        #expect(lines.filter { !$0.hasPrefix("kept ") } == [])
        #expect(WholeFile.content(of: place.rules) == Array(Place.text.utf8))
        #expect(
            result.errors.contains(
                "lupin: these were refused a mount namespace, as other sandboxes need it, since "
                    + "\(place.rules) is kept from the command in a folder that it may write: move "
                    + "it out of there:\n  python3\n"
            ),
            "\(result.errors)"
        )
    }

    @Test(.enabled(if: geteuid() != 0, "root without capabilities can't map its number"))
    func `where nothing is covered, other sandboxes work`() throws {
        let place = try Place(rulesIn: "beside")
        let script = Self.ways.components(separatedBy: "ways = [")[0] + "pivots(); print('inside')"
        let result = try place.run(script)
        #expect(result.output == "inside\n", "\(result.errors)")
        #expect(!result.errors.contains("mount namespace"), "\(result.errors)")
    }

    @Test func `a folder of credentials among dropped ones is removed, and not only covered`()
        throws
    {
        let place = try Place(rulesIn: "beside")
        let script = """
            import os
            home = os.environ["HOME"]
            print(os.path.lexists(home + "/.sbt/credentials"), os.listdir(home + "/.sbt"))
            os.makedirs(home + "/.sbt/credentials/inner")
            print(os.listdir(home + "/.sbt/credentials/inner"))
            """
        let result = try place.run(script)
        #expect(result.output == "False []\n[]\n", "\(result.errors)")
    }

    @Test func `a tape whose folder the command moved is told by where it is`() throws {
        let place = try Place(rulesIn: "beside")
        let tape = "\(place.work)/open/tape.har"
        let script = """
            import os, sys
            try: os.rename("open", "moved")
            except OSError as problem:
                mounts = [line for line in open("/proc/self/mountinfo") if "given" in line]
                print(problem, *mounts, file=sys.stderr)
            """
        let result = try place.run(script, options: ["--record", tape])
        #expect(WholeFile.content(of: "\(place.work)/moved/tape.har") != nil)
        let told = "lupin: 0 exchanges on the tape \(place.work)/moved/tape.har\n"
        #expect(result.errors.contains(told), "\(result.errors)")
    }

    @Test func `no file gets the rights of its owner or group`() throws {
        let place = try Place(rulesIn: "beside")
        let script = #"""
            import ctypes, os, platform
            libc = ctypes.CDLL(None, use_errno=True)
            arm = platform.machine() == "aarch64"
            with open("file", "w") as file: file.write("x")
            fd = os.open("file", os.O_RDONLY)
            def raw(x86, aarch, *words):
                number = aarch if arm else x86
                if number is not None and libc.syscall(number, *words) < 0:
                    raise OSError(ctypes.get_errno(), "refused")
            def opened(flags, mode): os.close(os.open("new", flags, mode))
            how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
            ways = {
                "chmod": lambda mode: os.chmod("file", mode),
                "fchmod": lambda mode: os.fchmod(fd, mode),
                "chmod of a descriptor": lambda mode: os.chmod(f"/proc/self/fd/{fd}", mode),
                "old chmod": lambda mode: raw(90, None, b"file", mode),
                "fchmodat": lambda mode: raw(268, 53, -100, b"file", mode),
                "fchmodat2": lambda mode: raw(452, 452, -100, b"file", mode, 0),
                "open": lambda mode: opened(os.O_CREAT | os.O_WRONLY, mode),
                "old open": lambda mode: raw(2, None, b"new", os.O_CREAT | os.O_WRONLY, mode),
                "creat": lambda mode: raw(85, None, b"new", mode),
                "unnamed": lambda mode: os.open(".", os.O_TMPFILE | os.O_WRONLY, mode),
                "openat2": lambda mode: raw(437, 437, -100, b"new", how, 24),
                "mknod": lambda mode: os.mknod("new", 0o100000 | mode),
                "old mknod": lambda mode: raw(133, None, b"new", 0o100000 | mode, 0),
                "pipe": lambda mode: os.mkfifo("new", mode),
                "folder": lambda mode: os.mkdir("new", mode),
            }
            for name, way in ways.items():
                for mode in (0o4755, 0o2755, 0o6777):
                    child = os.fork()
                    if child == 0:
                        try: way(mode)
                        except OSError: pass
                        for path in ("file", "new"):
                            if os.path.exists(path) and os.stat(path).st_mode & 0o6000:
                                print("OPEN", name, oct(mode), path, flush=True)
                        if os.path.isdir("new"): os.rmdir("new")
                        elif os.path.exists("new"): os.unlink("new")
                        os._exit(0)
                    os.waitpid(child, 0)
            os.chmod("file", 0o1755); os.chmod("file", 0o644)
            # Without O_CREAT the mode means nothing.
            raw(257, 56, -100, b"file", os.O_RDONLY, 0o6777)
            print("done")
            """#
        let result = try place.run(script)
        #expect(result.output == "done\n", "\(result.errors)")
        #expect(
            result.errors.contains(
                "these were refused setuid and setgid files, which would outlive the command:\n"
                    + "  python3\n"
            ),
            "\(result.errors)"
        )
    }
}
