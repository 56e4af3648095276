// A program under a block list that asks for what is refused, in every form that it can think of.

/// What it runs in a `SmallInternet`, where all of this could be reached: Python, with nothing but
/// its standard library.
///
/// Each attempt prints a line: `kept`, or `OPEN` if a server answered, and its name.
enum DisguisedTargets {
    /// The argument is a command that asks `denied.test` by a connection of its own.
    static let script = #"""
        import os, shutil, socket, ssl, subprocess, sys, urllib.parse
        fetch, port = sys.argv[1], "80"
        name, _, at = os.environ["http_proxy"].split("//")[1].strip("/").rpartition(":")
        proxy = (name, int(at))
        def talk(s, bytes):
            s.settimeout(3); s.sendall(bytes)
            answer = b""
            try:
                while True:
                    part = s.recv(65536)
                    if not part: break
                    answer += part
            except (socket.timeout, OSError): pass
            return answer
        def head(method, target, host):
            return (f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n"
                "Connection: close\r\n\r\n").encode()
        def get(target, host):
            return talk(socket.create_connection(proxy, 5), head("GET", target, host))
        def tunnel(host):
            s = socket.create_connection(proxy, 5)
            s.settimeout(5); s.sendall(head("CONNECT", host, host))
            answer = b""
            while b"\r\n\r\n" not in answer:
                part = s.recv(65536)
                if not part: break
                answer += part
            return s if b" 200 " in answer.split(b"\r\n")[0] else None
        def plain(host, inner):
            s = tunnel(host)
            return s and talk(s, head("GET", "/", inner))
        def secured(host, name):
            s = tunnel(host)
            if not s: return b""
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return talk(context.wrap_socket(s, server_hostname=name), head("GET", "/", name))
        def run(*words, **variables):
            return subprocess.run(words, env=dict(os.environ, **variables), timeout=20,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        def attempt(what, function, *arguments, **variables):
            try: isOpen = b"home of" in (function(*arguments, **variables) or b"")
            except BaseException: isOpen = False
            print("OPEN" if isOpen else "kept", what, flush=True)

        # That it would work: without these lines the others say nothing.
        attempt("allowed: GET", get, "http://allowed.test/", "allowed.test")
        attempt("allowed: redirect", get, "http://allowed.test/to?http://allowed.test/",
            "allowed.test")
        attempt("allowed: CONNECT", plain, "allowed.test:80", "allowed.test")
        attempt("allowed: TLS", secured, "allowed.test:443", "allowed.test")
        curl = ["curl", "-sm3"] if shutil.which("curl") else ["true"]
        attempt("allowed: curl", run, *curl, "https://allowed.test/")

        refused = ["denied.test", "DENIED.TEST", "denied.test.", "Denied.Test.", "denied%2etest",
            "%64enied.test", "denied.test%00.allowed.test", "denied.test%20", "denied。test",
            "ｄenied.test", "allowed.test@denied.test", "allowed.test%40denied.test",
            "denied.test#.allowed.test", "denied.test/.allowed.test", "denied.test\\.allowed.test",
            "denied.test..", ".denied.test", "denied.test\t"]
        machine = ["127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0x7f.1", "0x7f000001",
            "0x7F.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "127.000.000.001",
            "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]",
            "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[::1]", "[::1%lo]", "[::1%25lo]", "0.0.0.0",
            "0", "[::]", "localhost", "LOCALHOST.", "127.0.0.2", "%31%32%37.0.0.1",
            "127。0。0。1", "①②⑦.0.0.1", "127.0.0.1%00",
            "allowed.test@127.0.0.1", "loop.test", "LOOP.test."]
        metadata = ["169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]",
            "0251.0376.0251.0376", "169.254.43518"]
        for host, to in [(h, "80") for h in refused + metadata] + [(h, port) for h in machine]:
            whole = f"{host}:{to}"
            attempt(f"GET {whole}", get, f"http://{whole}/", whole)
            attempt(f"GET {whole} for another Host", get, f"http://{whole}/", "allowed.test")
            attempt(f"CONNECT {whole}", plain, whole, whole)
            attempt(f"CONNECT {whole} for another Host", plain, whole, "allowed.test")
            for target in f"http://{whole}/", f"//{whole}/":
                attempt(f"redirect to {target}", get,
                    "http://allowed.test/to?" + urllib.parse.quote(target), "allowed.test")
        for host in "denied.test", "DENIED.TEST.", "127.0.0.1", "loop.test":
            attempt(f"redirect to https {host}", get, f"http://allowed.test/to?https://{host}/",
                "allowed.test")
            attempt(f"TLS to {host}", secured, f"{host}:443", host)
            attempt(f"TLS to {host} for another", secured, f"{host}:443", "allowed.test")
        for name in "denied.test", "DENIED.test", "denied.test.":
            attempt(f"TLS for {name} by another", secured, "allowed.test:443", name)
            attempt(f"HTTP for {name} by another", plain, "allowed.test:80", name)

        # By tools that go their own ways
        urls = [f"{scheme}://denied.test:80/_GET%20/%0d%0a%0d%0a" for scheme in
            ("gopher", "ftp", "dict", "telnet", "tftp", "smb", "ldap", "mqtt", "rtsp", "sftp")]
        for url in urls:
            attempt(f"curl {url}", run, *curl, "-o", "-", url)
            attempt(f"curl by the proxy {url}", run, *curl, "-p", "-x",
                f"http://{name}:{at}", "-o", "-", url)
        for options in (["--noproxy", "*"], ["-x", f"socks5h://{name}:{at}"], ["--connect-to",
            "allowed.test:80:denied.test:80"], ["--resolve", "allowed.test:80:127.0.0.1"], ["-L"]):
            attempt(f"curl {' '.join(options)}", run, *curl, *options,
                "http://allowed.test/to?http://denied.test/" if options == ["-L"]
                else "http://denied.test/")
        git = ["git", "-c", "protocol.ext.allow=always", "-c", "protocol.allow=always", "ls-remote"]
        for url in ("https://denied.test/acme/tool.git", "http://denied.test/acme/tool.git",
            "git://denied.test/acme/tool.git", "ssh://git@denied.test/acme/tool.git",
            "http://allowed.test/to?http://denied.test/acme/tool.git"):
            attempt(f"git {url}", run, *git, url)
        attempt("git's ext::", run, *git, f"ext::{fetch}")
        attempt("git's GIT_SSH_COMMAND", run, *git, "ssh://git@denied.test/a",
            GIT_SSH_COMMAND=fetch)
        attempt("git's GIT_PROXY_COMMAND", run, *git, "git://denied.test/a",
            GIT_PROXY_COMMAND=fetch)
        """#
}
