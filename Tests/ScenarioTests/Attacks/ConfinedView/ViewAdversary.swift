// A program in `lupin exec --confine` that looks for what it was not given, by any name.

/// What the confined program runs: Python, with nothing but its standard library.
///
/// Each attempt prints a line, `kept` or `OPEN` and its name; one that raises is kept. After the
/// line `ready` it waits for a line, while its surroundings change.
enum ViewAdversary {
    static let script = #"""
        import ctypes, json, os, socket, subprocess, sys
        facts = json.loads(sys.argv[1])
        base, home, secret = facts["base"], facts["home"], facts["secret"].encode()
        libc = ctypes.CDLL(None, use_errno=True)
        def each(name, function, *cases):
            for case in cases:
                try: isOpen = function(case)
                except BaseException: isOpen = False
                print("OPEN" if isOpen else "kept", name, case, flush=True)
        def read(path):
            with open(path, "rb") as file: return file.read(1 << 20)
        def holds(path): return secret in read(path)
        def appends(path):
            with open(path, "ab") as file: file.write(b"planted")
            return True
        def replaces(path):
            with open("planted", "w") as file: file.write("lupin: 1\n")
            os.rename("planted", path); return True
        def moves(path): os.rename(path, path + ".moved"); return True
        def removes(path): os.unlink(path); return True
        def makes(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x") as file: file.write("planted")
            return True
        def links(path): os.symlink("/tmp/planted", path); return True
        def connects(path):
            s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(path); return True

        lupins = [base + "/other/" + name for name in ("rules.yaml", "token", "jar.txt", "log",
            "log.1", "store", "ca.key", "capture/1", "cache/1")]
        persons = [home + "/" + name for name in (".ssh/id", ".npmrc", ".netrc", ".git-credentials",
            ".aws/credentials", ".config/gh/hosts.yml", ".gnupg/key", ".docker/config.json",
            ".mozilla/profile", ".cargo/credentials.toml", ".m2/settings.xml", ".kube/config",
            ".local/share/keyrings/login", ".config/git/credentials", ".cache/mozilla/page",
            ".pypirc", ".unheard-of/file", "kept/by-hide", "dotfiles/npmrc",
            ".gradle/develocity/keys.properties", ".opam/plugins/opam-publish/me.token",
            ".cache/ms-playwright/mcp-chrome-profile/Default/Cookies", ".cargo/unheard-of",
            ".cache/pre-commit/repo1/.git/config", "snap/firefox/common/.mozilla/logins.json",
            "miniconda3/.condarc")]
        own = ["lupin.yaml", "token", "log"]
        all = lupins + persons + [os.path.abspath(name) for name in own]
        each("reading", holds, *all)
        each("reading by the root of the process",
            lambda path: holds("/proc/self/root" + path), *all)
        each("reading by the first process", lambda path: holds("/proc/1/root" + path), *all[:4])
        each("reading by ..", lambda path: holds(os.path.relpath(path)), *all[:4], *persons[:3])
        def by_link(path):
            os.symlink(path, "link")
            try: return holds("link")
            finally: os.unlink("link")
        each("reading by a link", by_link, *all[:3], *persons[:3], *own)
        def by_hard_link(path):
            os.link(path, "hard")
            try: return holds("hard")
            finally: os.unlink("hard")
        each("reading by a hard link", by_hard_link, *all[:3], *persons[:3], *own)
        def nested(command):
            words = ["unshare", "-Urm", "sh", "-c", command]
            return secret in subprocess.run(words, capture_output=True).stdout
        each("uncovering", lambda path: nested(f"umount -l {path}; cat {path}"), *own)
        each("uncovering the folder of", lambda path: nested(
            f"umount -l {os.path.dirname(path)}; cat {path}"), lupins[1], persons[0])
        def elsewhere(path):
            os.makedirs("m", exist_ok=True)
            return nested(f"mount --bind / m; cat m{path}")
        each("mounting elsewhere", elsewhere, lupins[1], persons[0], os.path.abspath("token"))
        each("another root", lambda path: os.chroot(path) is None, ".", "/tmp")
        each("unmounting", lambda path: libc.umount2(path.encode(), 2) == 0, "token", home, "/tmp")

        # Changing
        each("appending to", appends, *all[:3], home + "/.vimrc", home + "/docs/text",
            home + "/.gitconfig", "/etc/hosts", "/etc/profile", *own, *facts["wrappers"])
        each("replacing", replaces, lupins[0], home + "/.vimrc", home + "/docs/text", *own)
        each("removing", removes, home + "/docs/text", home + "/.vimrc", *own)
        each("moving", moves, home, base, home + "/docs", base + "/other", os.getcwd(), *own)
        each("making", makes, home + "/new", home + "/.config/lupin/lupin.yaml",
            home + "/.local/bin/evil", home + "/.cargo/bin/evil", home + "/docs/new",
            home + "/.bash_login", home + "/.config/systemd/user/evil.service", "/etc/planted",
            "/usr/local/bin/planted", "/var/planted", base + "/other/new", base + "/planted",
            home + "/.local/state/lupin/siblings/x", home + "/.config/autostart/evil.desktop")
        each("a link in the place of", links, home + "/.config", home + "/.ssh", home + "/.netrc",
            base + "/other/store", *own)

        # Doors
        doors = facts["sockets"]
        each("connecting to", connects, *doors)
        each("connecting by the first process to",
            lambda path: connects("/proc/1/root" + path), *doors)
        each("connecting by .. to", lambda path: connects(os.path.relpath(path)), *doors)
        def linked(path):
            os.symlink(path, "door")
            try: return connects("door")
            finally: os.unlink("door")
        each("connecting by a link to", linked, *doors)

        # What comes to be
        print("ready", flush=True); sys.stdin.readline()
        each("reading what was replaced", holds, *lupins)
        each("reading what is new", holds, base + "/other/store.new", base + "/other/log.2",
            home + "/.later", home + "/later")
        each("connecting to what is new", connects, *facts["later"])

        # What is dropped
        each("dropping", lambda path: makes(path) and not os.path.exists(path), "/tmp/planted",
            "/var/tmp/planted", home + "/.cache/pip/planted", home + "/.npm/planted",
            "/dev/shm/planted", home + "/.cache/planted/file")
        """#
}
