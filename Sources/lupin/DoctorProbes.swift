// How each tool on this machine fetches one page, and what to do when it fails.

/// One way in which a tool makes requests.
struct DoctorProbe: Sendable {
    /// The name in the table.
    let name: String
    /// Names to search for in PATH, the best first.
    let programs: [String]
    /// Arguments that print the version; when they fail, the tool counts as absent.
    var version = ["--version"]
    /// The arguments that fetch a URL; `{url}`, `{scheme}` and `{folder}` are replaced.
    let arguments: [String]
    /// The path to request on the test host.
    var path = DoctorPages.page
    /// What the output must contain, besides an exit code of 0.
    var expected = DoctorPages.text
    /// The timeout of one request.
    var timeout = Duration.seconds(10)
    /// Files that the tool needs in its folder.
    var files: [(name: String, text: String)] = []
    /// Variables in addition to those of `ChildEnvironment`.
    var environment: [String: String] = [:]
    /// The advice when a plain request does not come through the proxy.
    var plainFix = "an own setting of the tool names another proxy, or none"
    /// The advice when lupin's certificate is not trusted.
    var trustFix = "an own setting of the tool names another file of authorities"
}

/// The pages that the doctor's proxy answers itself; none of them is on a network.
enum DoctorPages {
    /// RFC 6761 §6.2: no resolver knows a name below `test`, so only the proxy can answer.
    static let host = "doctor.lupin.test"
    static let page = "/page"
    static let text = "lupin-doctor-ok"
    private static let commit = String(repeating: "0123456789", count: 4)

    /// The doctor's rules; each matches a path, so https to the host is intercepted.
    static let rules = """
        lupin: 1
        rules:
          - match: {host: \(host), path: \(page)}
            respond: {status: 200, body: "\(text)\\n"}
          - match: {host: \(host), path: /repository/info/refs}
            respond: {status: 200, body: "\(commit)\\trefs/heads/main\\n"}
          - match: {host: \(host), path: /repository/HEAD}
            respond: {status: 200, body: "ref: refs/heads/main\\n"}
          - match: {host: \(host), path: /index/http/config.json}
            respond: {status: 200, body: '{"dl": "http://\(host)", "api": "http://\(host)"}'}
          - match: {host: \(host), path: /index/https/config.json}
            respond: {status: 200, body: '{"dl": "https://\(host)", "api": "https://\(host)"}'}
          - match: {host: \(host), path: /api/v1/crates}
            respond: {status: 200, body: '{"crates": [], "meta": {"total": 0}}'}

        """
}

extension DoctorProbe {
    /// Every tool that the doctor knows, in the order of the table.
    static func all(isRoot: Bool) -> [DoctorProbe] {
        [curl, wget, git] + python + node + [java, go, cargo, deno, ruby, perl, php]
            + [chromium(isRoot: isRoot)]
    }

    private static let curl = DoctorProbe(
        name: "curl",
        programs: ["curl"],
        arguments: ["--silent", "--show-error", "--fail", "{url}"],
        plainFix: "take `proxy` and `noproxy` out of ~/.curlrc",
        trustFix: "take `cacert`, `capath` and `proxy-cacert` out of ~/.curlrc"
    )

    private static let wget = DoctorProbe(
        name: "wget",
        programs: ["wget"],
        arguments: ["--quiet", "--tries=1", "--output-document=-", "{url}"],
        plainFix: "take `use_proxy` and `http_proxy` out of ~/.wgetrc",
        trustFix: "wget reads no variable about certificates: write `ca_certificate = FILE` into "
            + "~/.wgetrc, with the FILE of `lupin env --ca`"
    )

    private static let git = DoctorProbe(
        name: "git",
        programs: ["git"],
        arguments: ["-c", "credential.helper=", "ls-remote", "{url}"],
        path: "/repository",
        expected: "refs/heads/main",
        plainFix: "git config --global --unset http.proxy",
        trustFix: "look for http.sslCAInfo and http.sslCAPath in `git config --list`"
    )

    private static let python = [
        DoctorProbe(
            name: "python urllib",
            programs: ["python3", "python"],
            arguments: [
                "-c",
                "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())",
                "{url}",
            ],
            trustFix: "the program may pass a context of its own instead of the default one"
        ),
        DoctorProbe(
            name: "python requests",
            programs: ["python3", "python"],
            version: ["-c", "import requests; print(requests.__version__)"],
            arguments: [
                "-c", "import sys, requests; print(requests.get(sys.argv[1]).text)", "{url}",
            ],
            trustFix: "`verify=` and `Session.trust_env = False` go before REQUESTS_CA_BUNDLE"
        ),
    ]

    private static let node = [
        DoctorProbe(
            name: "node https",
            programs: ["node", "nodejs"],
            arguments: [
                "-e",
                """
                const url = process.argv[1];
                require(url.startsWith('https') ? 'https' : 'http').get(url, (response) => {
                  response.pipe(process.stdout);
                }).on('error', (error) => { console.log(error.message); process.exit(1); });
                """,
                "{url}",
            ],
            plainFix: "an agent of the program's own goes before the global one",
            trustFix: "NODE_EXTRA_CA_CERTS is ignored by a program that passes `ca` itself"
        ),
        DoctorProbe(
            name: "node fetch",
            programs: ["node", "nodejs"],
            version: ["-p", "typeof fetch === 'function' ? process.version : process.exit(1)"],
            arguments: [
                "-e",
                """
                fetch(process.argv[1]).then((response) => response.text()).then(console.log)
                  .catch((e) => { console.log(String(e.cause || e)); process.exit(1); });
                """,
                "{url}",
            ],
            plainFix: "a dispatcher of the program's own goes before the global one",
            trustFix: "NODE_EXTRA_CA_CERTS is ignored by a program that passes `ca` itself"
        ),
    ]

    private static let java = DoctorProbe(
        name: "java HttpClient",
        programs: ["java"],
        version: ["-version"],
        arguments: ["{folder}/LupinProbe.java", "{url}"],
        files: [
            (
                "LupinProbe.java",
                """
                import java.net.URI;
                import java.net.http.*;
                public class LupinProbe {
                    public static void main(String[] arguments) throws Exception {
                        var request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
                        var text = HttpResponse.BodyHandlers.ofString();
                        System.out.println(HttpClient.newHttpClient().send(request, text).body());
                    }
                }
                """
            )
        ],
        plainFix: "JDK 11 or later with a compiler is needed for this test",
        trustFix: "JAVA_TOOL_OPTIONS names a trust store already: import lupin's certificate "
            + "with keytool -importcert"
    )

    private static let go = DoctorProbe(
        name: "go",
        programs: ["go"],
        version: ["version"],
        arguments: ["run", "{folder}/probe.go", "{url}"],
        // It compiles the program first.
        timeout: .seconds(30),
        files: [
            (
                "probe.go",
                """
                package main

                import ("io"; "net/http"; "os")

                func main() {
                    response, err := http.Get(os.Args[1])
                    if err != nil { println(err.Error()); os.Exit(1) }
                    io.Copy(os.Stdout, response.Body)
                }
                """
            )
        ],
        environment: ["GO111MODULE": "off"],
        trustFix: "the program may have its own RootCAs; else check SSL_CERT_FILE"
    )

    private static let cargo = DoctorProbe(
        name: "cargo",
        programs: ["cargo"],
        arguments: ["search", "lupin", "--registry", "doctor"],
        path: "/index/{scheme}/",
        expected: "",
        environment: [
            "CARGO_REGISTRIES_DOCTOR_INDEX": "sparse+{url}", "CARGO_HOME": "{folder}/cargo",
        ],
        plainFix: "take `http.proxy` out of cargo's config.toml",
        trustFix: "take `http.cainfo` out of cargo's config.toml"
    )

    private static let deno = DoctorProbe(
        name: "deno",
        programs: ["deno"],
        arguments: ["eval", "console.log(await (await fetch(Deno.args[0])).text())", "{url}"]
    )

    private static let ruby = DoctorProbe(
        name: "ruby",
        programs: ["ruby"],
        arguments: ["-rnet/http", "-e", "print Net::HTTP.get(URI(ARGV[0]))", "{url}"]
    )

    private static let perl = DoctorProbe(
        name: "perl HTTP::Tiny",
        programs: ["perl"],
        // Without this module it can't do https.
        version: ["-MIO::Socket::SSL", "-e", "printf '%vd', $^V"],
        arguments: [
            "-MHTTP::Tiny",
            "-e",
            """
            my $r = HTTP::Tiny->new(verify_SSL => 1)->get($ARGV[0]); print $r->{content};
            exit !$r->{success};
            """,
            "{url}",
        ],
        trustFix: "the program may set SSL_ca_file itself; else check SSL_CERT_FILE"
    )

    private static let php = DoctorProbe(
        name: "php curl",
        programs: ["php"],
        version: ["-r", "if (!function_exists('curl_init')) exit(1); echo PHP_VERSION;"],
        arguments: [
            "-r",
            "$c = curl_init($argv[1]); if (!curl_exec($c)) { echo curl_error($c); exit(1); }",
            "{url}",
        ],
        trustFix: "set curl.cainfo in php.ini to the file of `lupin env --ca`"
    )

    /// As root, Chromium only runs without its sandbox.
    private static func chromium(isRoot: Bool) -> DoctorProbe {
        DoctorProbe(
            name: "chromium",
            programs: [
                "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
                "chromium-headless-shell", "chrome-headless-shell",
            ],
            arguments: (isRoot ? ["--no-sandbox"] : [])
                + ["--headless", "--disable-gpu", "--dump-dom", "{url}"],
            plainFix: "a policy or a desktop's setting chooses its proxy; pass --proxy-server",
            trustFix: "found by name in PATH it trusts lupin under `lupin exec` only; else import "
                + "the certificate under Settings, Security, Manage certificates"
        )
    }
}
