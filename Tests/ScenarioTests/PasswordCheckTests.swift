// How often a password is checked, who waits for it meanwhile, and what a changed file does.
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct PasswordCheckTests {
    private static let ok = head("HTTP/1.1 200 OK", "Content-Length: 2") + "ok"

    /// Counts the checks, and holds those of some passwords up until it is opened.
    private final class Checks: Sendable {
        private let made = Mutex<[String]>([])
        private let isOpen = Atomic(false)
        private let held: String?

        init(holding held: String? = nil) { self.held = held }

        var passwords: [String] { made.withLock { $0 } }

        func open() { isOpen.store(true, ordering: .releasing) }

        func verify(_ password: [UInt8], _ hash: String) -> Bool {
            let text = String(decoding: password, as: UTF8.self)
            made.withLock { $0.append(text) }
            while let held, text.hasPrefix(held), !isOpen.load(ordering: .acquiring) {
                TailedFile.pause(milliseconds: 1)
            }
            return PasswordHash.verify(password, against: hash)
        }
    }

    @Test func `a hundred requests at once cost one check`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "wonder")
        try await ProxyFixture.run(
            "workers: 2",
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let clients = try (0..<100).map { _ in try proxy.client() }
            for client in clients { try client.send("GET", origin.url(), [ClientUsers.alice]) }
            try eventually("the check") { checks.passwords.count == 1 }
            try proxy.settle()
            checks.open()
            for client in clients { #expect(try client.response().status == 200) }
            #expect(checks.passwords == ["wonder land"])
            #expect(try proxy.records(100).allSatisfy { $0["client.user"] == "alice" })
        }
    }

    @Test func `what passed is known for minutes, and what failed for seconds`() async throws {
        let users = try ClientUsers()
        let checks = Checks()
        let clock = VirtualClock()
        try await ProxyFixture.run(
            clock: clock,
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let wrong = ClientUsers.field("alice", "guess")
            func ask() throws -> [Int] {
                let client = try proxy.client()
                defer { client.close() }
                return try [ClientUsers.alice, wrong].map { field in
                    try client.get(origin.url(), field).status
                }
            }
            for _ in 0..<2 {
                let statuses = try ask()
                #expect(statuses == [200, 407])
            }
            #expect(checks.passwords == ["wonder land", "guess"])
            try clock.advance(by: .seconds(6))
            #expect(try ask() == [200, 407])
            #expect(checks.passwords.suffix(1) == ["guess"] && checks.passwords.count == 3)
            try clock.advance(by: .seconds(295))
            #expect(try ask() == [200, 407])
            #expect(checks.passwords.count == 5)
        }
    }

    @Test func `a name that nobody has costs a check too`() async throws {
        let users = try ClientUsers()
        let checks = Checks()
        try await ProxyFixture.run(
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            // Even the right password of the stand-in does not make a user.
            for password in ["wonder land", "b:ob"] {
                let field = ClientUsers.field("mallory", password)
                let client = try proxy.client()
                #expect(try client.get("http://a.test/", field).status == 407)
            }
            #expect(checks.passwords == ["wonder land", "b:ob"])
        }
    }

    @Test func `a flood of wrong passwords is bounded and blocks nobody else`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "guess")
        try await ProxyFixture.run(
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let alice = try proxy.client()
            #expect(try alice.get(origin.url(), ClientUsers.alice).status == 200)
            // One is worked on, 32 wait, the others are told to come back.
            let flood = try (0..<40).map { i in
                let client = try proxy.client()
                let field = ClientUsers.field("user \(i)", "guess \(i)")
                try client.send("GET", origin.url(), [field])
                if i == 0 { try eventually("the first check") { checks.passwords.count == 2 } }
                return client
            }
            for client in flood[33...] {
                let response = try client.response()
                #expect(response.status == 429)
                #expect(response["Retry-After"] == "1")
                #expect(response["Connection"] == nil)
            }
            // Known credentials need no check.
            for _ in 0..<3 {
                #expect(try alice.get(origin.url(), ClientUsers.alice).status == 200)
            }
            checks.open()
            for client in flood[..<33] { #expect(try client.response().status == 407) }
            #expect(checks.passwords.count == 34)
            let bob = try proxy.client()
            #expect(try bob.get(origin.url(), ClientUsers.bob).status == 200)
        }
    }

    @Test func `wrong passwords for one name do not fill their client's lane`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "guess")
        try await ProxyFixture.run(
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let flood = try (0..<10).map { i in
                let client = try proxy.client()
                try client.send("GET", origin.url(), [ClientUsers.field("bob", "guess \(i)")])
                if i == 0 { try eventually("the first check") { checks.passwords.count == 1 } }
                return client
            }
            for client in flood[5...] { #expect(try client.response().status == 429) }
            let alice = try proxy.client()
            try alice.send("GET", origin.url(), [ClientUsers.alice])
            try proxy.settle()
            checks.open()
            #expect(try alice.response().status == 200)
        }
    }

    @Test func `a client that leaves takes its password along`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "guess")
        try await ProxyFixture.run(
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let first = try proxy.client()
            try first.send("GET", "http://a.test/", [ClientUsers.field("bob", "guess 1")])
            try eventually("the first check") { checks.passwords.count == 1 }
            let second = try proxy.client()
            try second.send("GET", "http://a.test/", [ClientUsers.field("bob", "left")])
            try proxy.settle()
            second.close()
            #expect(try proxy.record()["outcome"] == "aborted")
            checks.open()
            #expect(try first.response().status == 407)
            let third = try proxy.client()
            #expect(try third.get("http://a.test/", ClientUsers.field("b", "c")).status == 407)
            #expect(checks.passwords == ["guess 1", "c"])
        }
    }

    @Test func `a client does not wait for ever`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "guess")
        let clock = VirtualClock()
        try await ProxyFixture.run(
            clock: clock,
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://a.test/", [ClientUsers.field("bob", "guess")])
            try eventually("the check") { checks.passwords.count == 1 }
            try clock.advance(by: .seconds(10))
            #expect(try client.response().status == 429)
            checks.open()
        }
    }

    @Test func `a stop does not wait for a check`() async throws {
        let users = try ClientUsers()
        let checks = Checks(holding: "guess")
        try await ProxyFixture.run(
            "timeouts: {drain: 0s}",
            authentication: [users.authentication],
            verify: checks.verify
        ) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://a.test/", [ClientUsers.field("bob", "guess")])
            try eventually("the check") { checks.passwords.count == 1 }
            let isDone = Bell()
            let stopping = proxy.beginStopping()
            Task {
                await stopping.value
                isDone.ring()
            }
            #expect(isDone.wait())
            checks.open()
        }
    }

    // MARK: The file

    @Test func `a changed file counts within a second or so`() async throws {
        let users = try ClientUsers()
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock, authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let carol = ClientUsers.field("carol", "new")
            let client = try proxy.client()
            #expect(try client.get(origin.url(), ClientUsers.alice).status == 200)
            #expect(try client.get(origin.url(), carol).status == 407)
            try users.write(["carol": "new", "bob": "b:ob"])
            try eventually("carol") {
                try? clock.advance(by: .seconds(1))
                return (try? client.get(origin.url(), carol).status) == 200
            }
            #expect(try client.get(origin.url(), ClientUsers.alice).status == 407)
            #expect(try client.get(origin.url(), ClientUsers.bob).status == 200)
            #expect(proxy.warnings == [])
        }
    }

    @Test func `a file that is no good leaves the users as they were`() async throws {
        let users = try ClientUsers()
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock, authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            try users.write(text: "alice:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n")
            try eventually("the complaint") {
                try? clock.advance(by: .seconds(1))
                return !proxy.warnings.isEmpty
            }
            #expect(try client.get(origin.url(), ClientUsers.alice).status == 200)
            for _ in 0..<5 { try clock.advance(by: .seconds(1)) }
            #expect(try client.get(origin.url(), ClientUsers.bob).status == 200)
            #expect(proxy.warnings.count == 1)
            #expect(proxy.warnings[0].contains("line 1: alice: SHA-1 is too weak"))
            #expect(proxy.warnings[0].hasSuffix("the users stay those of the file before"))
            try users.write(["dave": "d"])
            try eventually("dave") {
                try? clock.advance(by: .seconds(1))
                return (try? client.get(origin.url(), ClientUsers.field("dave", "d")).status) == 200
            }
        }
    }

    @Test(arguments: ["alice:secret\n", "", nil])
    func `lupin does not start with a file that is no good`(text: String?) async throws {
        let users = try ClientUsers()
        if let text { try users.write(text: text) }
        let path = text == nil ? users.path + ".absent" : users.path
        let error = await #expect(throws: Proxy.StartFailure.self) {
            let wanted = ClientAuthentication.basic(file: path, realm: "lupin")
            try await ProxyFixture.run(authentication: [wanted]) { _ in }
        }
        let message = error?.message ?? ""
        #expect(message.hasPrefix("\(path): "))
        #expect(!message.contains("secret"))
    }
}
