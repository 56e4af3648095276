// That a confined command gets what its standard streams were given for, and no more of the files
// behind them.
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
struct ConfinedStreamTests {
    private let folder: Folder
    private let work: String
    private let notes: String

    init() throws {
        folder = try Folder()
        work = "\(folder.path)/work"
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
        notes = try folder.write("notes.txt", "one\ntwo\nthree\n")
    }

    /// Runs a script in the working folder, in which `confined` runs a command, and `python` a
    /// script as one.
    private func run(_ script: String) throws -> Lupin.Result {
        let rules = try folder.write("lupin.yaml", "lupin: 1\nintercept: {mode: none}\n")
        let head = """
            confined() { '\(Lupin.path)' exec --confine --rules \(rules) --log ../log -- "$@"; }
            python() { confined \(SmallInternet.python) -c "$1"; }

            """
        return try Lupin.run(program: "/bin/sh", ["-c", head + script], in: work)
    }

    /// What was written to a file, without lines about lupins of other tests.
    private func content(_ name: String) -> String {
        let bytes = FileManager.default.contents(atPath: "\(folder.path)/\(name)") ?? Data()
        return Lupin.withoutOthers(String(decoding: bytes, as: UTF8.self))
    }

    // MARK: Input

    private static let changes = """
        import os
        def attempt(change):
            try: change(); print("changed")
            except OSError as error: print("kept")
        for way in ["/dev/stdin", "/proc/self/fd/0", f"/proc/{os.getpid()}/fd/0", "/dev/fd/0"]:
            for flags in [os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC]:
                attempt(lambda: os.write(os.open(way, flags), b"planted"))
            attempt(lambda: os.truncate(way, 1))
            attempt(lambda: os.chmod(way, 0o777))
        attempt(lambda: os.write(0, b"planted"))
        attempt(lambda: os.fchmod(0, 0o777))
        attempt(lambda: os.utime(0, (0, 0)))
        attempt(lambda: os.setxattr(0, "user.planted", b"x"))
        attempt(lambda: os.ftruncate(0, 0))
        """

    @Test(arguments: ["< ../notes.txt", "0<> ../notes.txt", "< ../none 0< ../notes.txt"])
    func `a file that is read can't be changed`(redirection: String) throws {
        let before = try FileManager.default.attributesOfItem(atPath: notes)
        _ = try folder.write("none", "")
        let result = try run("python '\(Self.changes)' \(redirection)")
        #expect(result.code == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 25 && lines.allSatisfy { $0 == "kept" }, "\(lines)")
        #expect(content("notes.txt") == "one\ntwo\nthree\n")
        let after = try FileManager.default.attributesOfItem(atPath: notes)
        for key in [FileAttributeKey.posixPermissions, .modificationDate] {
            #expect(before[key] as? NSObject == after[key] as? NSObject)
        }
    }

    @Test func `a file is read from its place, anew by its name, and to the end`() throws {
        let result = try run(
            """
            { read -r line; confined sh -c 'read -r line; echo "$line"'; cat; } < ../notes.txt
            confined sh -c 'cat; cat /dev/stdin' < ../notes.txt
            confined tail -c 6 < ../notes.txt
            confined sh -c 'cat <&1; cat <&2' 1< ../notes.txt 2< ../notes.txt
            python 'import os; os.lseek(0, 4, 0); os.write(1, os.read(0, 3))' < ../notes.txt
            confined cat < /proc/self/status > status; grep -c ^Name: status
            cp ../notes.txt own; confined sh -c 'basename $(readlink -f /dev/stdin)' < own
            """
        )
        let all = "one\ntwo\nthree\n"
        #expect(
            result.output == "two\nthree\n" + all + all + "three\ntwo1\nown\n",
            "\(result.errors)"
        )
    }

    @Test func `a file that has no name any more is a copy`() throws {
        let result = try run(
            """
            cp ../notes.txt ../gone; exec 3<> ../gone; rm ../gone; cd ../work
            python 'import os; print(os.read(0, 99)); print(os.lseek(0, 4, 0), os.read(0, 3))
            os.write(os.open("/proc/self/fd/0", os.O_WRONLY), b"planted")' <&3
            cat <&3
            """
        )
        #expect(
            result.output.hasPrefix(#"b'one\ntwo\nthree\n'"# + "\n4 b'two'\n"),
            "\(result.output) \(result.errors)"
        )
        #expect(!result.output.contains("planted"))
    }

    // MARK: Output

    @Test func `of a file that is written nothing is read, or taken away`() throws {
        _ = try folder.write("o.log", "old\n")
        let script = """
            import os
            for way in ["/dev/stdout", "/proc/self/fd/1", f"/proc/{os.getppid()}/fd/1"]:
                try: found = os.read(os.open(way, os.O_RDONLY | os.O_NONBLOCK), 99)
                except OSError: found = b""
                os.write(2, found)
                for flags in [os.O_WRONLY | os.O_TRUNC, os.O_RDWR]:
                    try: os.close(os.open(way, flags))
                    except OSError: pass
            for change in [lambda: os.ftruncate(1, 0), lambda: os.lseek(1, 0, 0)]:
                try: change()
                except OSError: pass
            os.write(1, b"new\\n")
            """
        let result = try run("python '\(script)' >> ../o.log; python '\(script)' 1<> ../notes.txt")
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.errors.contains("old") && !result.errors.contains("one"))
        #expect(content("o.log") == "old\nnew\n")
        #expect(content("notes.txt") == "new\ntwo\nthree\n")
    }

    @Test func `both outputs keep their order in one file, and apart in two`() throws {
        let result = try run(
            """
            each='for i in 1 2 3; do echo out $i; echo err $i >&2; done'
            confined sh -c "$each" > ../both 2>&1
            confined sh -c "$each" >> ../appended 2>> ../appended
            confined sh -c "$each" > ../out 2> ../err
            { echo before; confined sh -c "$each"; echo behind; } > ../kept 2>&1
            confined sh -c 'echo in 0 >&0' 0> ../zero
            """
        )
        #expect(result.code == 0, "\(result.errors)")
        let lines = (1...3).map { "out \($0)\nerr \($0)\n" }.joined()
        #expect(content("both") == lines)
        #expect(content("appended") == lines)
        #expect(content("out") == "out 1\nout 2\nout 3\n")
        #expect(content("err") == "err 1\nerr 2\nerr 3\n")
        #expect(content("kept") == "before\n\(lines)behind\n")
        #expect(content("zero") == "in 0\n")
    }

    @Test func `all is written before lupin ends, whoever wrote it`() throws {
        let result = try run(
            """
            confined sh -c 'head -c 20000000 /dev/zero; (sleep 60; echo late) & exit 3' > ../big
            echo $?; wc -c < ../big
            confined sh -c 'kill -9 $$' > ../big; echo $?
            confined sh -c 'cat > /dev/stdout; echo x >> /proc/self/fd/1' < ../notes.txt > ../big
            cat ../big
            """
        )
        let expected = "3\n20000000\n137\none\ntwo\nthree\nx\n"
        #expect(result.output == expected, "\(result.errors)")
    }

    @Test func `a full disk ends who writes on`() throws {
        let script = try folder.write(
            "script",
            """
            mount -t tmpfs -o size=64k none ../work && cd ../work && export TMPDIR='\(folder.path)'
            lupin='\(Lupin.path)'
            confined() { $lupin exec --confine --rules ../lupin.yaml --log ../log -- "$@"; }
            confined sh -c "trap '' PIPE; head -c 9000000 /dev/zero || echo failed >&2" > small
            echo $?
            confined head -c 9000000 /dev/zero > small; echo $?
            confined head -c 200000 /dev/zero > small; echo $?

            """
        )
        let result = try run("/usr/bin/unshare -cm --keep-caps /bin/sh \(script)")
        // By SIGPIPE, or since what was written can't be kept.
        let codes = result.output.split(separator: "\n")
        #expect(codes.count == 3 && codes[0] == "1" && codes[1] == "141", "\(result.errors)")
        #expect(codes.count == 3 && ["1", "141"].contains(codes[2]), "\(codes)")
        #expect(result.errors.contains("failed"))
        let message = "lupin: error: cannot write what the command printed: No space left on device"
        #expect(result.errors.components(separatedBy: message).count == 4, "\(result.errors)")
    }

    // MARK: What is refused, and what stays

    @Test func `a folder, a device and a mere name are refused`() throws {
        let open = """
            import os, sys
            os.dup2(os.open("../notes.txt", os.O_PATH), int(sys.argv[1]))
            os.execvp(sys.argv[2], sys.argv[2:])
            """
        let result = try run(
            """
            confined true < /; echo $?
            confined true < .; echo $?
            confined true > ../out 1< ..; echo $?
            \(SmallInternet.python) -c '\(open)' 0 '\(Lupin.path)' exec --confine -- true; echo $?
            confined true < /dev/zero; echo $?
            confined true <&- >&- 2>&-; echo $?
            """
        )
        #expect(result.output == "126\n126\n126\n126\n0\n0\n", "\(result.errors)")
        for text in [
            "standard input is a folder, by which", "standard output is a folder, by which",
            "standard input is no opened file, but only the name of one, by which",
        ] {
            #expect(result.errors.contains("lupin: error: " + text), "\(result.errors)")
        }
    }

    @Test func `a socket is refused, unless it is one of a pair of unix sockets`() throws {
        let open = """
            import os, socket, sys
            kinds = {"tcp": (socket.AF_INET, socket.SOCK_STREAM), "netlink": (16, socket.SOCK_RAW),
                "udp": (socket.AF_INET6, socket.SOCK_DGRAM), "unix": (socket.AF_UNIX, 1)}
            if sys.argv[1] in kinds: ends = [socket.socket(*kinds[sys.argv[1]])]
            else: ends = socket.socketpair(type=getattr(socket, sys.argv[1]))
            for end in ends: end.set_inheritable(True)
            os.dup2(ends[0].fileno(), 0)
            os.execvp(sys.argv[2], sys.argv[2:])
            """
        let result = try run(
            """
            for kind in tcp udp netlink unix SOCK_DGRAM SOCK_SEQPACKET SOCK_STREAM; do
              \(SmallInternet.python) -c '\(open)' $kind '\(Lupin.path)' exec --confine -- true
              echo $?
            done
            """
        )
        let codes = String(repeating: "126\n", count: 6) + "0\n"
        #expect(result.output == codes, "\(result.errors)")
        let message = "lupin: error: standard input is a socket of a network outside, by which"
        #expect(result.errors.components(separatedBy: message).count == 7, "\(result.errors)")
    }

    @Test func `pipes and null devices stay as they are`() throws {
        let result = try run(
            """
            here=$(readlink /proc/self/fd/1)
            echo x | confined sh -c 'cat; readlink /proc/self/fd/1 /proc/self/fd/2' 2> /dev/null |
            cat; echo "$here" > /dev/null
            confined sh -c 'exec 3>&1; [ "$(readlink /proc/self/fd/3)" ] && readlink /proc/$$/fd/3'
            readlink /proc/$$/fd/1
            """
        )
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 5 && lines.first == "x", "\(lines) \(result.errors)")
        #expect(lines.count == 5 && lines[1].hasPrefix("pipe:") && lines[2] == "/dev/null")
        // The very pipe that lupin was given.
        #expect(lines.count == 5 && lines[3] == lines[4], "\(lines)")
    }
}
