// Users for a test: a password file of its own, and what their clients send.
import Foundation
import LupinIO
import LupinPolicy
import LupinTestKit
import Testing

/// A password file that lives as long as its test.
final class ClientUsers: Sendable {
    let path = NSTemporaryDirectory() + "lupin-users-\(UUID().uuidString)"

    /// A file with these names and passwords.
    init(_ users: KeyValuePairs<String, String> = ["alice": "wonder land", "bob": "b:ob"]) throws {
        try write(users)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// What a listener with this file is set to.
    var authentication: ClientAuthentication { .basic(file: path, realm: "lu\"pin") }

    /// Replaces the file.
    func write(_ users: KeyValuePairs<String, String>) throws {
        try write(text: users.map { "\($0):\(try Self.hash($1))\n" }.joined())
    }

    func write(text: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// A hash of the lowest cost.
    static func hash(_ password: String) throws -> String {
        let digits = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        let salt = String((0..<21).map { _ in digits.randomElement() ?? "." })
        let setting = "$2b$04$" + salt + "u"
        return try #require(PasswordHash.make(of: Array(password.utf8), setting: setting))
    }

    /// The field line with which a client says who it is.
    static func field(_ user: String, _ password: String) -> String {
        "Proxy-Authorization: Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    static let alice = field("alice", "wonder land")
    static let bob = field("bob", "b:ob")
}
