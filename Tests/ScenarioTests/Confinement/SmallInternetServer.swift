// The servers of a `SmallInternet`: a program in Python, with nothing but its standard library.

extension SmallInternet {
    /// Reads `facts.json` in the folder of its argument, says `ready`, and ends with its input.
    ///
    /// It takes every request by http and https, writes it into `seen`, and answers as a host with
    /// Git repositories, an index of Python packages, an API and files would.
    static let server = #"""
        import base64, fcntl, http.server, io, json, os, socket, ssl, struct, subprocess, sys
        import threading, urllib.parse, zipfile
        place, address = sys.argv[1:3]
        facts = json.load(open(place + "/facts.json"))
        # The loopback interface is up, with one more address that is not 127.0.0.1.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for name, at in ((b"lo", "127.0.0.1"), (b"lo:1", address)):
                request = struct.pack("16sH2x4s8x", name, socket.AF_INET, socket.inet_aton(at))
                fcntl.ioctl(s, 0x8916, request)
                fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", name, 0x41))
        seen, lock = open(place + "/seen", "a", buffering=1), threading.Lock()

        def wheel():
            info, data = "tiny-1.0.dist-info", io.BytesIO()
            files = {"tiny.py": "word = 'tiny works'\n",
                info + "/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                info + "/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
            names = list(files) + [info + "/RECORD"]
            files[info + "/RECORD"] = "".join(name + ",,\n" for name in names)
            with zipfile.ZipFile(data, "w") as archive:
                for name, text in files.items(): archive.writestr(name, text)
            return data.getvalue()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            def log_message(self, *words): pass
            def answer(self, status, body, **fields):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD": self.wfile.write(body)
            def given(self):
                value = self.headers.get("Authorization", "")
                is_basic = value[:6].lower() == "basic "
                return "Basic " + base64.b64decode(value[6:]).decode() if is_basic else value
            def content(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body, size = b"", 1
                while size > 0:
                    size = int(self.rfile.readline(), 16)
                    body += self.rfile.read(size); self.rfile.readline()
                return body
            def any(self):
                body, host = self.content(), self.headers.get("Host", "").split(":")[0]
                given, (path, _, query) = self.given(), self.path.partition("?")
                line = {"host": host, "method": self.command, "path": self.path, "given": given,
                    "at": self.connection.getsockname()[0].removeprefix("::ffff:")}
                with lock: seen.write(json.dumps(line) + "\n")
                secret = facts["secrets"].get(host)
                if secret and secret not in given:
                    return self.answer(401, f"not {given}".encode(),
                        WWW_Authenticate='Basic realm="here"')
                if ".git/" in path: return self.git(path, query, body)
                if path == "/simple/tiny/":
                    name = "tiny-1.0-py3-none-any.whl"
                    link = f'<a href="https://{facts["wheels"]}/{name}">{name}</a>'
                    return self.answer(200, f"<!DOCTYPE html>{link}".encode(),
                        Content_Type="text/html", Cache_Control="max-age=600, public")
                if path.endswith(".whl"):
                    return self.answer(200, wheel(), Content_Type="application/octet-stream",
                        Cache_Control="max-age=86400, public")
                if path == "/user":
                    next = f"https://{host}/user?page=2&token={secret}"
                    said = {"login": "me", "you said": given, "body": body.decode("latin-1")}
                    return self.answer(200, json.dumps(said).encode(), Link=f'<{next}>; rel="next"',
                        Content_Type="application/json")
                if path == "/to":
                    return self.answer(302, b"", Location=urllib.parse.unquote(query))
                if path == "/archive":
                    return self.answer(302, b"", Location=f'https://{facts["files"]}/?t={secret}')
                if path == "/":
                    return self.answer(200, f"<title>home of {host}</title>".encode(),
                        Content_Type="text/html")
                self.answer(404, b"not here")
            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = any
            def git(self, path, query, body):
                variables = dict(os.environ, GIT_PROJECT_ROOT=place + "/git", PATH_INFO=path,
                    GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=self.command, QUERY_STRING=query,
                    CONTENT_TYPE=self.headers.get("Content-Type", ""), REMOTE_USER="someone",
                    HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
                    CONTENT_LENGTH=str(len(body)), REMOTE_ADDR="192.0.2.1",
                    GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
                done = subprocess.run(["git", "http-backend"], input=body, env=variables,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                head, _, rest = done.stdout.partition(b"\r\n\r\n")
                status, fields = 200, {}
                for line in head.decode().split("\r\n"):
                    name, _, value = line.partition(": ")
                    if name == "Status": status = int(value.split()[0])
                    elif name: fields[name] = value
                self.answer(status, rest, **fields)

        class Plain(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64
            # IPv4, too.
            address_family = socket.AF_INET6
            def handle_error(self, *words): pass

        class Secure(Plain):
            contexts = {}
            for host in facts["hosts"]:
                contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                contexts[host].load_cert_chain(f"{place}/{host}.pem", f"{place}/{host}.key")
            usual = contexts[facts["hosts"][0]]
            def choose(s, name, context, contexts=contexts):
                if name in contexts: s.context = contexts[name]
            usual.sni_callback = choose
            # On the thread of the connection, since a handshake takes as long as the client wants.
            def finish_request(self, request, client):
                request.settimeout(30)
                with self.usual.wrap_socket(request, server_side=True) as secured:
                    Handler(secured, client, self)

        for server in (Plain(("::", 80), Handler), Secure(("::", 443), Handler)):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        print("ready", flush=True)
        sys.stdin.read()
        """#
}
