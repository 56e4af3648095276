// Two lupins of one user that find each other, and whose clients a test names.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

/// One lupin that keeps something, and another one that is on the way to it.
struct LupinPair: Sendable {
    let keeper: ProxyFixture
    let way: ProxyFixture
    let users: LocalUsers
    /// Where the two find each other.
    let folder: String

    /// A keeper of a token.
    static let token = """
        tokens: {mine: {bearer: owner-token, plain_http: true}}
        rules: [{name: mine, match: {path: /**}, request: [{auth: mine}]}]
        """
    /// The setting by which one lupin lets its clients reach another.
    static let open = "access: {deny_targets: [link-local]}"

    /// Runs a story; the rules of the one on the way get the keeper's address.
    ///
    /// Where they are apart, neither sees the other's folder, as in a container that shares the
    /// network.
    static func run(
        areApart: Bool = false,
        way rules: @Sendable @escaping (SocketAddress) -> String = { _ in open },
        keeper: String = token,
        resolve: @escaping @Sendable (String) -> Resolver.Answer = ProxyFixture.here,
        hooks: Hooks = Hooks(),
        _ body: @Sendable @escaping (LupinPair) async throws -> Void
    ) async throws {
        let folder = try Folder()
        let other = try Folder()
        let name = folder.path.split(separator: "/").last ?? ""
        let folderOfWay = areApart ? "\(other.path)/\(name)" : folder.path
        let users = LocalUsers()
        try await ProxyFixture.run(
            keeper,
            resolve: ProxyFixture.here,
            identify: users.identify,
            siblings: folder.path
        ) { keeper in
            try await ProxyFixture.run(
                rules(keeper.address),
                resolve: resolve,
                identify: users.identify,
                siblings: folderOfWay,
                hooks: hooks
            ) { way in
                let pair = LupinPair(
                    keeper: keeper,
                    way: way,
                    users: users,
                    folder: folder.path
                )
                try await body(pair)
            }
        }
    }

    /// A client of `user` that asks the keeper in a tunnel of the other one.
    func tunnelled(of user: UInt32?) throws -> ScriptedClient {
        let client = try users.client(way, of: user)
        #expect(try client.connect("127.0.0.1:\(keeper.address.port)").status == 200)
        return client
    }

    /// A request of `client` comes to the origin with the owner's token.
    func expectToken(from client: ScriptedClient, at origin: PlayedOrigin) throws {
        try client.send("GET", origin.url())
        let far = try origin.accept()
        #expect(try far.request()["Authorization"] == "Bearer owner-token")
        try far.reply(204)
        #expect(try client.response().status == 204)
    }

    /// A request of `client` is refused, and nothing of it comes to the origin.
    func expectRefusal(of client: ScriptedClient, at origin: PlayedOrigin) throws {
        let response = try client.get(origin.url())
        #expect(response.status == 403)
        #expect(response.bodyText.contains("uses credentials of user"))
        #expect(!origin.hasWaiting)
    }
}
