// Where requests go: hosts, addresses, networks, URLs and their references, proxies.
import LupinCaching
import LupinCore
import LupinPolicy

enum AddressTargets {
    static let all = [host, address, network, url, reference, redirect, environment]

    static let host = FuzzTarget(
        "host",
        seeds: [
            "a.example", "[::1]", "127.0.0.1", "0x7f.1", "2130706433", "b\u{C3}\u{BC}cher.example",
            "%41.example", "a_b-c.", "017700000001", "0xffffffffffffffffff",
        ],
        words: ["0x", "xn--", "[::", "]", "%2e", "\u{E3}\u{80}\u{82}"]
    ) { input in
        let host: Host
        do {
            host = try Host(parsing: input.span)
        } catch {
            return String("\(error)".prefix { $0 != "(" })
        }
        let again = Host(host.uriText)
        try hold(again == host, "a canonical host is read as itself: \(host.uriText)")
        return "host \(told(host.address))"
    }

    static let address = FuzzTarget(
        "address",
        seeds: ["127.0.0.1", "::1", "::ffff:1.2.3.4", "2001:db8::5:0:0", "1:2:3:4:5:6:7:8"],
        words: ["::", "ffff", "1.2.3.4", ":"]
    ) { input in
        guard let address = IPAddress(parsing: input.span) else { return "nil" }
        try hold(IPAddress(address.text) == address, "its text is the same: \(address.text)")
        let kinds = [
            address.isLoopback, address.isPrivate, address.isLinkLocal, address.isMetadata,
            address.isUnspecified, address.embedded == nil,
        ]
        return kinds.map { $0 ? "1" : "0" }.joined()
    }

    static let network = FuzzTarget(
        "network",
        seeds: ["10.0.0.0/8", "::/0", "::1/128", "1.2.3.4", "0.0.0.0/0", "1.2.3.4/32"],
        words: ["/", "/32", "/128"]
    ) { input in
        let entry = NoProxyEntry(text(input))
        guard let network = CIDR(text(input)) else { return "nil \(told(entry))" }
        try hold(CIDR(network.text) == network, "its text is the same: \(network.text)")
        try hold(entry != nil, "a network may be without a proxy")
        _ = network.contains(.v4(0x7F00_0001))
        _ = network.contains(.v6(high: 0, low: .max))
        return "some"
    }

    static let url = FuzzTarget(
        "url",
        seeds: [
            "https://a.example:8443/x?y=z#f", "http://[::1]:80", "HTTP://u:p@A/", "http://a:/b",
        ],
        words: ["http://", "https://", ":0", ":65536", "@", "?", "#"]
    ) { input in
        guard let url = HTTPURL(text(input)) else { return "nil" }
        let scheme = url.origin.scheme == .https ? "https" : "http"
        let place = "\(scheme)://\(url.origin.host.uriText):\(url.origin.port)"
        try hold(HTTPURL(place + url.path) == url, "its parts are the same URL: \(place)")
        _ = QueryParameters.decoded(of: Array(url.path.utf8).span)
        let key = CacheKey(
            origin: url.origin,
            pathAndQuery: Array(url.path.utf8).span,
            partition: ""
        )
        let normal = NormalPath(Array(url.path.utf8).span)
        _ = (key.path, normal)
        return "some \(told(url.origin.host.address))"
    }

    static let reference = FuzzTarget(
        "uri-reference",
        seeds: [
            "../a/./b?c#d", "//u@h:1/", "http:g", "?y", "", "/a/b/../../../c", "a:b:c",
            "https://a.example",
        ],
        words: ["../", "./", "//", "?", "#", ":", "http:"]
    ) { input in
        let reference: URIReference
        do {
            reference = try URIReference(fieldValue: input.span)
        } catch {
            return "\(error)"
        }
        guard let url = HTTPURL("https://h.example/a/b/c?q") else { return "no base" }
        let base = URIReference(origin: url.origin, pathAndQuery: url.path)
        let target = reference.resolved(against: base)
        try hold(target.resolved(against: base) == target, "what is whole stays so")
        try hold(
            !text(target.path).split(separator: "/").contains { $0 == "." || $0 == ".." }
                || reference.scheme != nil,
            "no dots are left"
        )
        return "\(told(reference.scheme)) \(told(reference.authority)) \(told(target.query))"
    }

    static let redirect = FuzzTarget(
        "redirect",
        seeds: ["/a", "https://b.example:444/x", "http://[::1]:80/", "//c:65536/", "ftp://x/"],
        words: ["https://", "http://", "//", ":18446744073709551616/", "@"]
    ) { input in
        guard let url = HTTPURL("https://h.example/a/b/c?q") else { return "no base" }
        var request = RequestHead()
        request.pathAndQuery = request.fields.store(url.path)
        var response = ResponseHead(status: 302)
        response.fields = section("Location", input)
        let decision = RedirectPolicy().decide(
            response: response,
            request: request,
            origin: url.origin,
            visited: [],
            isBodyReplayable: true
        )
        return String("\(decision)".prefix { $0 != "(" })
    }

    static let environment = FuzzTarget(
        "proxy-environment",
        seeds: [
            "http://u:p%40@proxy.example:3128/\n*.a.dev, 10.0.0.0/8,b:80,*", "proxy:3128\n",
            "https://[::1]:1\n.a,[::1]:5", "socks5://a\n",
        ],
        words: ["http://", "socks5://", ":", "@", "*.", "%40"]
    ) { input in
        let (proxy, exceptions) = halves(input)
        let environment = ProxyEnvironment([
            "http_proxy": text(proxy), "https_proxy": text(proxy), "no_proxy": text(exceptions),
        ])
        if let host = Host("a.dev") {
            _ = environment.way(for: .https, host: host, port: 443)
            _ = environment.noProxy.bypasses(host: host, port: 80)
        }
        return "\(told(environment.http)) \(size(environment.noProxy.count)) "
            + size(environment.problems.count)
    }
}
