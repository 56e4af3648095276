// How many proxies the tests run at once: with hundreds side by side each would wait for others.

/// Lets a few tests through at a time.
///
/// A test that starts a second proxy inside a first one does not wait again, or all might wait for
/// each other.
actor Turnstile {
    static let scenarios = Turnstile(places: 4)
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
