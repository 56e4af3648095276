// Ciphers, certificates and keys that OpenSSL can't use: `lupin check` says so, as the start does.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct UnusableTLSTests {
    /// A folder with two certificates and their keys.
    private func pairs() throws -> Folder {
        let folder = try Folder()
        for name in ["one", "two"] {
            let files = try TestAuthority.identityFiles("\(name).test")
            _ = try folder.write("\(name).pem", String(decoding: files.pem, as: UTF8.self))
            let key = try folder.write("\(name).key", String(decoding: files.key, as: UTF8.self))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        }
        return folder
    }

    @Test(arguments: [
        ("rules: [{match: a.test, tls: {ciphers: NOSUCH}}]", "2:40", "openssl ciphers -v 'NOSUCH'"),
        ("rules: [{match: a.test, tls: {ciphers: TLS_NO_SUCH}}]", "2:40", "takes no cipher"),
        ("rules: [{match: a.test, tls: {ciphers: \"ALL:!ALL\"}}]", "2:40", "takes no cipher"),
        (
            "rules: [{match: a.test, client_cert: {cert: one.pem, key: two.key}}]", "2:25",
            "openssl pkey -pubout -in"
        ),
        (
            "upstream: {tls: {client_cert: {cert: one.pem, key: two.key}}}", "2:18",
            "one.pem can't be used with"
        ),
        (
            "listen: [{address: \"127.0.0.1:0\", tls: {cert: two.pem, key: one.key}}]", "2:35",
            "two.pem can't be used with"
        ),
    ])
    func `what can't serve is an error at its line, to check and to serve`(
        text: String,
        place: String,
        words: String
    ) throws {
        let folder = try pairs()
        let file = try folder.write("lupin.yaml", "lupin: 1\n\(text)\n")
        for command in [["check", "--trusted", file], ["serve", "--rules", file]] {
            let result = try Lupin.run(command)
            #expect(result.code == 2, "\(command): \(result.errors)")
            #expect(result.errors.contains("lupin.yaml:\(place)"), "\(result.errors)")
            #expect(result.errors.contains(words), "\(result.errors)")
        }
    }

    @Test(arguments: [
        "rules: [{match: a.test, tls: {ciphers: \"ALL:@SECLEVEL=0\"}}]",
        "rules: [{match: a.test, tls: {ciphers: TLS_AES_128_GCM_SHA256}}]",
        "rules: [{match: a.test, client_cert: {cert: one.pem, key: one.key}}]",
        "listen: [{address: \"127.0.0.1:0\", tls: {cert: two.pem, key: two.key}}]",
    ])
    func `what can serve is fine`(text: String) throws {
        let folder = try pairs()
        let file = try folder.write("lupin.yaml", "lupin: 1\n\(text)\n")
        let result = try Lupin.run("check", "--trusted", file)
        #expect(result.code == 0, "\(result.errors)")
        #expect(!(result.output + result.errors).contains("expired"))
    }

    @Test(arguments: [
        "rules: [{match: a.test, client_cert: {cert: old.pem, key: old.key}}]",
        "upstream: {tls: {client_cert: {cert: old.pem, key: old.key}}}",
    ])
    func `a certificate that has expired is a warning`(text: String) throws {
        let folder = try Folder()
        // Noon of 2024-01-01.
        let files = try TestAuthority.identityFiles("old.test", notAfter: 1_704_110_400)
        _ = try folder.write("old.pem", String(decoding: files.pem, as: UTF8.self))
        let key = try folder.write("old.key", String(decoding: files.key, as: UTF8.self))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let file = try folder.write("lupin.yaml", "lupin: 1\n\(text)\n")
        let result = try Lupin.run("check", "--trusted", file)
        #expect(result.code == 0, "\(result.errors)")
        #expect((result.output + result.errors).contains("old.pem expired on 2024-01-01"))
    }
}
