// What the load asks for, in HTTP/1.1 and in HTTP/2.
import LupinCore
import LupinWire

extension LoadPlan {
    /// One request of HTTP/1.1 with its body, or a request for bytes out of a tunnel.
    var requestTemplate: VariedText {
        if isTunnel {
            let count = UInt64(bodyBytes)
            return VariedText(
                [0] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
            )
        }
        let absolute = isIntercepted ? "" : "http://\(authority)"
        var lines = ["\(method.token) \(absolute)\(pathAndQuery) HTTP/1.1", "Host: \(authority)"]
        lines += fields.map { "\($0.name): \($0.value)" }
        if isNewConnectionPerRequest { lines.append("Connection: close") }
        if uploadBytes > 0 { lines.append("Content-Length: \(uploadBytes)") }
        let head = lines.map { "\($0)\r\n" }.joined() + "\r\n"
        let body = NamedBody.template(uploadBytes, naming: VariedText.urlID)
        return VariedText(Array(head.utf8) + body)
    }

    /// The same for HTTP/2, without a body; `VariedText` finds its blanks in the fields' storage.
    var requestHead: RequestHead {
        var head = RequestHead()
        head.pathAndQuery = head.fields.store(pathAndQuery)
        for field in fields { head.fields.add(name: field.name, value: field.value) }
        return head
    }

    /// What HTTP/2 says beside the head.
    var requestOptions: RequestOptions {
        RequestOptions(
            target: .absolute(isIntercepted ? .https : .http),
            authority: authority,
            framing: .none
        )
    }

    /// The origin as a target names it.
    var authority: String { "\(originHost):\(originPort)" }

    private var method: Method { uploadBytes > 0 ? .post : .get }

    /// What `Demand` reads.
    private var pathAndQuery: String {
        guard isVaried else { return "/bytes/\(bodyBytes)" }
        let id = VariedText.urlID
        return "\(urls > 0 ? Demand.stored : Demand.varied)\(id)/\(bodyBytes)?page=\(id)"
    }

    private var fields: [(name: String, value: String)] {
        let equal = [(name: "User-Agent", value: "lupin-bench"), (name: "Accept", value: "*/*")]
        guard isVaried else { return equal }
        return equal + [
            (name: "X-Request-Id", value: VariedText.requestID),
            (name: "Date", value: VariedText.date),
            (name: "Cookie", value: "theme=dark; visit=\(VariedText.requestID)"),
        ]
    }
}
