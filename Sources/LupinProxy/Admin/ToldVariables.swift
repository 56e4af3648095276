// What a running lupin tells of its environment: never a value that may be secret.
import LupinCore
import LupinTLS

/// The variables by which a lupin read its rules, as its user may know them in another terminal.
package enum ToldVariables {
    /// Those that say which requests go by a parent proxy; lower and upper case are two variables.
    private static let ofProxies = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]

    /// The variables of parent proxies, without user and password.
    package static func proxies(in environment: [String: String]) -> [String: String] {
        var told: [String: String] = [:]
        for name in ofProxies.flatMap({ [$0, $0.uppercased()] }) {
            told[name] = environment[name].map(withoutUserinfo)
        }
        // It says whether HTTP_PROXY counts.
        if environment["REQUEST_METHOD"] != nil { told["REQUEST_METHOD"] = "" }
        return told
    }

    /// An environment with the parent proxies of another one, as `proxies(in:)` tells them.
    package static func environment(
        _ environment: [String: String],
        with proxies: [String: String]
    ) -> [String: String] {
        let own = Self.proxies(in: environment).keys
        return environment.filter { !own.contains($0.key) }.merging(proxies) { $1 }
    }

    /// 16 bits of a digest of a value: enough to see that two differ, and too few to find one.
    package static func check(of value: String, salt: String) -> String {
        let digest = MessageDigest.sha256("\(salt)\n\(value)".utf8.span)
        return digest.prefix(2).map { String($0) }.joined(separator: ".")
    }

    private static func withoutUserinfo(_ url: String) -> String {
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        guard let at = url[start...].lastIndex(of: "@") else { return url }
        return String(url[..<start] + url[url.index(after: at)...])
    }
}
