// That passwords are told right from wrong, for each scheme that a password file may use.

import LupinIO
import Testing

struct PasswordHashTests {
    /// Made elsewhere: crypt_blowfish's test vectors, and SHA-crypt by OpenSSL.
    static let vectors = [
        ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        ("U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
        ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
        ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        (
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJ"
                + "uesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
        ),
    ]

    @Test(arguments: vectors)
    func `a published hash is that of its password and of no other`(
        password: String,
        hash: String
    ) {
        #expect(PasswordHash.verify(Array(password.utf8), against: hash))
        #expect(!PasswordHash.verify(Array((password + "x").utf8), against: hash))
        #expect(!PasswordHash.verify([], against: hash))
    }

    @Test(arguments: ["$2b$04$", "$2y$04$", "$5$rounds=1000$", "$6$rounds=1000$", "$y$j75$"])
    func `a hash made here is that of its password`(scheme: String) throws {
        let alphabet = Array("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        let count = scheme.hasPrefix("$2") ? 21 : 12
        let salt = (0..<count).map { _ in String(alphabet.randomElement() ?? ".") }.joined()
        let ending = scheme.hasPrefix("$2") ? "u" : "$"
        let password = Array("p\u{E4}ssw\u{F6}rd \(salt)".utf8)
        let setting = scheme + salt + ending
        let hash = try #require(PasswordHash.make(of: password, setting: setting))
        #expect(hash.hasPrefix(scheme))
        #expect(PasswordHash.verify(password, against: hash))
        #expect(!PasswordHash.verify(password + [0x21], against: hash))
        #expect(!PasswordHash.verify(password, against: String(hash.dropLast())))
    }

    @Test(arguments: ["", "*", "*0", "plain", "$9$what$is", "$2y$10$short", "$2y$99$"])
    func `no password is the one of what is no hash`(hash: String) {
        #expect(!PasswordHash.verify(Array("plain".utf8), against: hash))
    }

    @Test func `a password with NUL in it does not pass for the part before`() throws {
        let hash = try #require(
            PasswordHash.make(of: Array("secret".utf8), setting: "$2b$04$abcdefghijklmnopqrstuu")
        )
        #expect(PasswordHash.verify(Array("secret".utf8), against: hash))
        #expect(!PasswordHash.verify(Array("secret\0more".utf8), against: hash))
    }

    @Test func `a password that is too long is wrong`() throws {
        let long = [UInt8](repeating: 0x61, count: 600)
        #expect(PasswordHash.make(of: long, setting: "$6$rounds=1000$salt$") == nil)
    }

    @Test func `libcrypt has the first of its names that this machine knows`() {
        #expect(unsafe PasswordHash.function(of: ["absent.so", "libc.so.6"]) == nil)
        let found = ["libcrypt.so.1", "libcrypt.so.2"].map { name in
            unsafe PasswordHash.function(of: ["absent.so", name]) != nil
        }
        #expect(PasswordHash.isAvailable && found.contains(true))
    }
}
