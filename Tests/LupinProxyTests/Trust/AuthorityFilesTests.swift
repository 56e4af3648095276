// That the local authority is made once, found again, and refused with a reason where unfit.

import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTLS
import Synchronization
import Testing

struct AuthorityFilesTests {
    private let now: Int64 = 1_790_000_000
    private let root =
        FileManager.default.temporaryDirectory.path
        + "/lupin-authority-\(UInt64.random(in: 0...(.max)))"

    private func files(
        _ type: CertificateAuthoritySettings.KeyType = .p256
    ) throws -> AuthorityFiles {
        var settings = CertificateAuthoritySettings()
        settings.keyType = type
        return try AuthorityFiles(settings, environment: ["XDG_CONFIG_HOME": root], home: "/none")
    }

    private func inFolder(_ body: () throws -> Void) rethrows {
        defer { try? FileManager.default.removeItem(atPath: root) }
        try body()
    }

    private func replace(_ path: String, _ bytes: [UInt8]) throws {
        try ProtectedFile.write(bytes.span, to: path, replacing: true)
    }

    private func chmod(_ path: String, _ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func `the place follows settings, environment and home`() throws {
        var settings = CertificateAuthoritySettings()
        let home = try AuthorityFiles(settings, environment: [:], home: "/h")
        #expect(home.certificate == "/h/.config/lupin/ca.pem")
        #expect(home.key == "/h/.config/lupin/ca.key")
        let relative = ["XDG_CONFIG_HOME": "x"]
        #expect(
            try AuthorityFiles(settings, environment: relative, home: "/h").key == home.key
        )
        let absolute = ["XDG_CONFIG_HOME": "/x"]
        #expect(
            try AuthorityFiles(settings, environment: absolute, home: "/h").key
                == "/x/lupin/ca.key"
        )
        #expect(throws: AuthorityFailure.noDirectory) {
            try AuthorityFiles(settings, environment: [:], home: nil)
        }
        settings.files = CertificateFiles(certificate: "/c", key: "/k")
        let named = try AuthorityFiles(settings, environment: absolute, home: nil)
        #expect(named.certificate == "/c")
        #expect(named.key == "/k")
    }

    @Test func `an authority is made once and found again`() throws {
        try inFolder {
            let files = try files()
            #expect(try files.load(now: now) == nil)
            let made = try files.loadOrCreate(now: now, owner: "me@host")
            #expect(made.isNew)
            #expect(made.certificate.subjectText.contains("(me@host"))
            let found = try files.loadOrCreate(now: now + 86_400)
            #expect(!found.isNew)
            #expect(found.certificate.der == made.certificate.der)
            let names = try FileManager.default.contentsOfDirectory(atPath: root + "/lupin")
            #expect(names.sorted() == ["ca.key", "ca.key.lock", "ca.pem"])
            let mode = try FileManager.default.attributesOfItem(atPath: files.key)
            #expect(mode[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `an authority may have an RSA key`() throws {
        try inFolder {
            let authority = try files(.rsa2048).loadOrCreate(now: now)
            #expect(authority.key.isRSA)
        }
    }

    @Test func `of many that make one at once all get the same pair`() async throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let files = try files()
        let now = now
        let found = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask { try files.loadOrCreate(now: now).certificate.der }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(found.count == 1)
        let again = try #require(try files.load(now: now))
        #expect(found == [again.certificate.der])
    }

    @Test(.timeLimit(.minutes(1)))
    func `who waited for the lock loads what was made meanwhile`() throws {
        try inFolder {
            let files = try files()
            let lock = try ProtectedFile.lock(files.key + ".lock")
            let now = now
            let answer = Answer()
            Thread { answer.give(Result { try files.loadOrCreate(now: now) }) }.start()
            let number = try FileManager.default.attributesOfItem(atPath: files.key + ".lock")
            let inode = try #require(number[.systemFileNumber] as? Int)
            while try !isAwaited(inode) { sched_yield() }
            let key = try PrivateKey.generate(.p256)
            let made = try CertificateAuthority.make(key: key, owner: "other", now: now)
            try replace(files.key, key.withPEM { [UInt8](copying: $0) })
            try replace(files.certificate, made.certificate.pem)
            lock.close()
            let loaded = try answer.wait().get()
            #expect(!loaded.isNew)
            #expect(loaded.certificate.der == made.certificate.der)
        }
    }

    /// Whether somebody waits for a lock on the file; `/proc/locks` marks them with an arrow.
    private func isAwaited(_ inode: Int) throws -> Bool {
        let table = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
        return table.split(separator: "\n").contains {
            $0.contains("->") && $0.contains(":\(inode) ")
        }
    }

    @Test func `a key without certificate, as after a crash between the two, gets one`() throws {
        try inFolder {
            let files = try files()
            let first = try files.loadOrCreate(now: now)
            try FileManager.default.removeItem(atPath: files.certificate)
            let second = try files.loadOrCreate(now: now)
            #expect(second.isNew)
            #expect(second.key.publicKeyDigest == first.key.publicKeyDigest)
            #expect(second.certificate.der != first.certificate.der)
        }
    }

    @Test func `a certificate without key is not replaced`() throws {
        try inFolder {
            let files = try files()
            _ = try files.loadOrCreate(now: now)
            try FileManager.default.removeItem(atPath: files.key)
            let failure = AuthorityFailure.noKey(certificate: files.certificate, key: files.key)
            #expect(throws: failure) { try files.loadOrCreate(now: now) }
            #expect(FileManager.default.fileExists(atPath: files.certificate))
        }
    }

    @Test(arguments: [0o640, 0o604, 0o644])
    func `a key that others can read is refused with the cure`(mode: Int) throws {
        try inFolder {
            let files = try files()
            _ = try files.loadOrCreate(now: now)
            try chmod(files.key, mode)
            let failure = #expect(throws: AuthorityFailure.openToOthers(key: files.key)) {
                try files.loadOrCreate(now: now)
            }
            #expect(failure?.description.hasSuffix("chmod 600 \(files.key)") == true)
            try chmod(files.key, 0o600)
            // The certificate is no secret.
            try chmod(files.certificate, 0o644)
            #expect(try files.load(now: now) != nil)
        }
    }

    @Test func `another's key, damage and age are told with the names of the files`() throws {
        try inFolder {
            let files = try files()
            let made = try files.loadOrCreate(now: now)
            func reason() -> String? {
                #expect(throws: AuthorityFailure.self) { try files.loadOrCreate(now: now) }?
                    .description
            }
            let other = try PrivateKey.generate(.p256).withPEM { [UInt8](copying: $0) }
            try replace(files.key, other)
            #expect(
                reason()
                    == "\(files.certificate) with \(files.key): the private key does not belong "
                    + "to the certificate"
            )
            try replace(files.key, Array("nonsense".utf8))
            #expect(reason()?.hasSuffix("there is no readable private key in PEM") == true)
            try replace(files.certificate, Array("nonsense".utf8))
            #expect(reason()?.hasSuffix("there is no certificate in PEM") == true)
            let old = try CertificateAuthority.make(key: made.key, owner: "me", now: 0)
            try replace(files.certificate, old.certificate.pem)
            try replace(files.key, made.key.withPEM { [UInt8](copying: $0) })
            #expect(reason()?.hasSuffix("expired on 1979-12-30") == true)
        }
    }

    @Test func `a place that can't be written says which and why`() throws {
        try inFolder {
            try FileManager.default.createDirectory(
                atPath: root,
                withIntermediateDirectories: false
            )
            try Data().write(to: URL(fileURLWithPath: root + "/lupin"))
            let files = try files()
            let failure = #expect(throws: AuthorityFailure.self) {
                try files.loadOrCreate(now: now)
            }
            #expect(failure?.description.hasPrefix("cannot read \(root)/lupin/ca.pem: ") == true)
        }
    }
}

/// What another thread found.
private final class Answer: Sendable {
    private let given = Mutex<Result<CertificateAuthority, any Error>?>(nil)

    func give(_ result: Result<CertificateAuthority, any Error>) {
        given.withLock { $0 = result }
    }

    func wait() -> Result<CertificateAuthority, any Error> {
        while true {
            if let result = given.withLock(\.self) { return result }
            sched_yield()
        }
    }
}
