// Tests that wait for programs, which hold none of the threads that all tests share.
import LupinTestKit
import Testing

/// Runs each test on a thread of its own, a few at a time.
///
/// The threads that tests share are as many as there are processors: two tests that wait for
/// programs would stop all others on a machine with two.
struct ProgramTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    /// For each run of a test, and not for the suite around it.
    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? nil : self
    }

    @concurrent func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Turnstile.programs.pass { try await ScriptThread.run(function) }
    }
}

extension Trait where Self == ProgramTrait {
    /// For what starts programs and waits for them.
    static var waitsForPrograms: Self { Self() }
}
