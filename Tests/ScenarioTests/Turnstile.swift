// How many proxies and programs the tests run at once: with hundreds side by side each would wait
// for others.

/// Lets a few tests through at a time.
///
/// A test that starts a second proxy, or one beside its programs, does not wait again, or all might
/// wait for each other.
actor Turnstile {
    /// For proxies in this process: most of their tests wait for time or for a few bytes.
    static let scenarios = Turnstile(places: 8)
    /// For tests that start programs, which need a processor each.
    static let programs = Turnstile(places: 4)
    @TaskLocal private static var isInside = false

    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(places: Int) { self.places = places }

    /// Runs `body` when there is a place.
    nonisolated func pass(_ body: () async throws -> Void) async throws {
        if Self.isInside { return try await body() }
        await enter()
        let result = await Self.$isInside.withValue(true) { await outcome(of: body) }
        await leave()
        try result.get()
    }

    private nonisolated func outcome(
        of body: () async throws -> Void
    ) async -> Result<Void, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func enter() async {
        if places > 0 {
            places -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func leave() {
        if waiting.isEmpty {
            places += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
