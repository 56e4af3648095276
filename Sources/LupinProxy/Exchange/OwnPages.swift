// The pages that lupin serves when it is addressed like a web server.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS

package enum OwnPages {
    /// For requests that were meant for a server and came to a proxy.
    static let help = """
        This is lupin, an HTTP proxy, and not a web server. Set http_proxy and https_proxy to its \
        address (`lupin env` prints the lines) and ask for the site you want.
        """

    /// The request field by which `lupin exec` probes for a lupin; the probe leaves no record.
    package static let probe = "Lupin-Probe"

    /// The facts on the pages; none is secret.
    struct Facts {
        /// `http://127.0.0.1:8080`, as the client can reach it.
        var url: String
        var rulesVersion: String
        var rules: Int
        /// nil while there is no CA, since nothing has needed one.
        var authority: Certificate?

        /// Those for a client that has reached a listener at this address; nil without listeners.
        init?(_ snapshot: Snapshot, reachedAt local: IPAddress?) {
            let listeners = snapshot.openListeners
            let reached = listeners.first { listener in
                listener.address.isUnspecified || listener.address == local
            }
            guard var listener = reached ?? listeners.first else { return nil }
            if listener.address.isUnspecified, let local { listener.address = local }
            url = listener.proxyURL
            rulesVersion = snapshot.version
            rules = snapshot.rules.rules.count
            authority = snapshot.issuer.authority
        }
    }

    /// What may be asked of lupin itself.
    static var methods: GeneratedResponse {
        var response = GeneratedResponse(status: 204)
        response.head.fields.add(
            name: "Allow",
            value: Method.defined.map(\.token).joined(separator: ", ")
        )
        return response
    }

    /// The page at `path`, as HTML or text; nil when there is none.
    static func page(
        _ path: String,
        _ method: Method,
        _ facts: Facts,
        asHTML: Bool
    ) -> GeneratedResponse? {
        guard method == .get || method == .head else { return nil }
        switch path {
        case "/":
            return asHTML
                ? GeneratedResponse(
                    status: 200,
                    contentType: "text/html; charset=utf-8",
                    body: SetupPage(facts: facts).text
                )
                : GeneratedResponse(
                    status: 200,
                    contentType: "text/plain; charset=utf-8",
                    body: welcome(facts)
                )
        case "/proxy.pac":
            return GeneratedResponse(
                status: 200,
                contentType: "application/x-ns-proxy-autoconfig",
                body: proxyAutoConfiguration(facts.url)
            )
        case "/ca.pem":
            guard let authority = facts.authority else { return nil }
            var page = GeneratedResponse(status: 200, contentType: "application/x-x509-ca-cert")
            page.body = authority.pem
            return page
        case "/lupin.mobileconfig":
            guard let authority = facts.authority else { return nil }
            return GeneratedResponse(
                status: 200,
                contentType: "application/x-apple-aspen-config",
                body: MobileProfile(authority: authority).text
            )
        default: return nil
        }
    }

    private static func welcome(_ facts: Facts) -> String {
        """
        lupin is a local forward proxy: it runs every request of your tools through one pipeline \
        of rules and writes one log.

        To use it from a shell:

            export http_proxy=\(facts.url) https_proxy=\(facts.url)

        (`lupin env` prints this for sh, fish and PowerShell, upper-case names included.)
        Automatic proxy configuration for browsers: \(facts.url)/proxy.pac
        The CA certificate for https: \
        \(facts.authority == nil ? "not made yet" : "\(facts.url)/ca.pem")
        Rules: \(facts.rules), version \(facts.rulesVersion)

        """
    }

    /// No `DIRECT` fallback: a browser must not silently bypass the proxy.
    private static func proxyAutoConfiguration(_ url: String) -> String {
        let proxy = url.replacing("https://", with: "HTTPS ").replacing("http://", with: "PROXY ")
        return """
            function FindProxyForURL(url, host) {
                return "\(proxy)";
            }

            """
    }

    /// The response to a TRACE that ends here: the request without secrets (RFC 9110 §9.3.8).
    static func trace(of request: RequestHead) -> GeneratedResponse {
        let secret: Set<FieldName> = [.authorization, .proxyAuthorization, .cookie]
        var text = "\(request.method.token) \(request.pathText) HTTP/1.1\r\n"
        for line in request.fields.lines where !secret.contains(line.known) {
            text += "\(request.fields.text(line.name)): \(request.fields.text(line.value))\r\n"
        }
        return GeneratedResponse(status: 200, contentType: "message/http", body: text + "\r\n")
    }
}
