// A program that runs lupin within itself, by the rules file that it is given.
import LupinCore
import LupinProxy

@main
struct Embedded {
    static func main() async throws {
        let rules = CommandLine.arguments.dropFirst().first
        var hooks = Hooks()
        hooks.interceptor = Interceptor(
            adapters: [SignatureAdapter(host: "api.example") { "demo:\($0.utf8.count)" }],
            retriers: [
                // Once more after 503, but only what may be sent twice.
                Retrier { request, attempt in
                    let isBusy = attempt.response?.status == 503 && attempt.retries == 0
                    return isBusy && request.head.method.isIdempotent
                        ? .retryWithDelay(.milliseconds(200), reason: "the server is busy")
                        : .doNotRetry(reason: "not busy")
                }
            ]
        )
        let proxy = try await Proxy(rulesFile: rules, hooks: hooks)
        print("lupin listens on \(proxy.urls.joined(separator: " and ")); end it with Enter")
        _ = readLine()
        await proxy.stop()
    }
}
