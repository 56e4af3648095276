// What is said of targets that are lupin itself, or another lupin of the user.
import LupinCore
import LupinPolicy
import Testing

struct AccessPolicyTests {
    private static let loopback = IPAddress.v4(0x7F00_0001)

    private func policy(_ change: (inout AccessSettings) -> Void = { _ in }) -> AccessPolicy {
        var settings = Settings()
        change(&settings.access)
        return AccessPolicy(settings, listeners: [(Self.loopback, 9090)])
    }

    private func denial(by policy: AccessPolicy) throws -> LupinError? {
        policy.denial(
            of: Self.loopback,
            port: 9090,
            host: try #require(Host("a.test")),
            client: Self.loopback,
            isHostFromFile: false
        )
    }

    @Test func `lupin's own door is a forbidden address and no loop`() throws {
        let error = try #require(try denial(by: policy()))
        #expect(error.kind == .destinationIPProhibited)
        #expect(error.host == "a.test")
        #expect(
            error.detail
                == "127.0.0.1:9090 is lupin itself (access.deny_targets: [self]); "
                + "its page is http://lupin/."
        )
        #expect(try denial(by: policy { $0.denyTargets = [] }) == nil)
    }

    @Test func `the door of another lupin is told in the same way`() throws {
        let host = try #require(Host("a.test"))
        let error = policy().denial(ofSibling: "a.test:1", host, because: "is another lupin")
        #expect(error.kind == .destinationIPProhibited)
        #expect(
            error.detail
                == "a.test:1 is another lupin (access.deny_targets: [self]); "
                + "upstream.proxy may name it as parent proxy."
        )
    }

    @Test func `to a confined command no setting is named that the file may not have`() throws {
        let policy = policy { ($0.denyTargets, $0.isForConfined) = ([], true) }
        #expect(policy.deniesSelf)
        #expect(
            try denial(by: policy)?.detail
                == "127.0.0.1:9090 is lupin itself: a confined command never reaches a lupin of "
                + "yours; its page is http://lupin/."
        )
    }
}
