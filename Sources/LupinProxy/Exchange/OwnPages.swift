// What lupin says when it is asked as if it were a web server.
import LupinCore
import LupinIO

enum OwnPages {
    /// For requests that were meant for a server and came to a proxy.
    static let help = """
        This is lupin, an HTTP proxy, and not a web server. Set http_proxy and https_proxy to its \
        address (`lupin env` prints the lines) and ask for the site you want.
        """

    /// The page at `path`, or nil.
    static func page(
        _ path: String,
        _ method: Method,
        listeners: [SocketAddress],
        isSecure: Bool
    ) -> GeneratedResponse? {
        guard method == .get || method == .head, let listener = listeners.first else { return nil }
        switch path {
        case "/":
            return GeneratedResponse(
                status: 200,
                contentType: "text/plain; charset=utf-8",
                body: welcome("\(isSecure ? "https" : "http")://\(listener)")
            )
        case "/proxy.pac":
            return GeneratedResponse(
                status: 200,
                contentType: "application/x-ns-proxy-autoconfig",
                body: proxyAutoConfiguration("\(isSecure ? "HTTPS" : "PROXY") \(listener)")
            )
        default: return nil
        }
    }

    private static func welcome(_ url: String) -> String {
        """
        lupin is a local forward proxy: it runs every request of your tools through one pipeline \
        of rules and writes one log.

        To use it from a shell:

            export http_proxy=\(url) https_proxy=\(url)

        (`lupin env` prints this for sh, fish and PowerShell, upper-case names included.)
        A browser can be pointed to the proxy configuration at \(url)/proxy.pac

        """
    }

    /// No `DIRECT` fallback: a browser that silently goes around the proxy helps nobody.
    private static func proxyAutoConfiguration(_ proxy: String) -> String {
        """
        function FindProxyForURL(url, host) {
            return "\(proxy)";
        }

        """
    }

    /// RFC 9110 §9.3.8: a TRACE that ends here gets the request back, without what is secret.
    static func trace(of request: RequestHead) -> GeneratedResponse {
        let secret: Set<FieldName> = [.authorization, .proxyAuthorization, .cookie]
        var text = "\(request.method.token) \(request.pathText) HTTP/1.1\r\n"
        for line in request.fields.lines where !secret.contains(line.known) {
            text += "\(request.fields.text(line.name)): \(request.fields.text(line.value))\r\n"
        }
        return GeneratedResponse(status: 200, contentType: "message/http", body: text + "\r\n")
    }
}
