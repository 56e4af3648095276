// What a command of root's doesn't see of /etc and /var/lib, by names and by modes.
import LupinConfinement
import Testing

struct SystemSecretsTests {
    /// A machine of files; those whose name is `secret`, or that lie in `shut`, are root's alone.
    private struct Machine {
        let files: [String]

        func list(_ folder: String) -> [(name: String, isFolder: Bool)] {
            let names = files.filter { CanonicalPath.isWithin($0, folder) && $0 != folder }
                .map { $0.dropFirst(folder.count + 1).split(separator: "/") }
            return Dictionary(grouping: names) { String($0[0]) }
                .map { ($0.key, $0.value.contains { $0.count > 1 }) }
                .sorted { $0.0 < $1.0 }
        }

        func facts(_ path: String) -> SystemSecrets.Facts? {
            SystemSecrets.Facts(
                isPrivate: ["secret", "shut"].contains(CanonicalPath.name(of: path)),
                mayHoldFolders: list(path).contains(where: \.isFolder)
            )
        }

        var settings: [String] { SystemSecrets.settings(list, facts) }
        var states: [String] { SystemSecrets.states(list, facts) }
    }

    @Test(arguments: [
        ("/etc/security/secret", "/etc/security/secret"), ("/etc/shut/a/b", "/etc/shut"),
        ("/etc/nginx/ssl/x.key", "/etc/nginx/ssl/x.key"), ("/etc/secret", "/etc/secret"),
        ("/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_rsa_key"),
        ("/etc/ssl/certs/a-key.pem", "/etc/ssl/certs/a-key.pem"),
        ("/etc/samba/private/passdb.tdb", "/etc/samba/private"),
        (
            "/etc/puppetlabs/puppet/ssl/private_keys/x.pem",
            "/etc/puppetlabs/puppet/ssl/private_keys"
        ),
        ("/etc/credstore/x", "/etc/credstore"),
        ("/etc/credstore.encrypted/x", "/etc/credstore.encrypted"),
        ("/etc/cryptsetup-keys.d/r", "/etc/cryptsetup-keys.d"),
        ("/etc/a/b/c/d/e/f/g", "/etc/a/b/c/d/e/f"),
    ])
    func `what root alone may read, and keys by their names, are found`(
        file: String,
        absent: String
    ) {
        #expect(Machine(files: [file]).settings == [absent])
    }

    @Test func `what tools read is not`() {
        let files = [
            "/etc/passwd", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt",
            "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/apt/keyrings/x.key",
            "/etc/apt/sources.list", "/etc/gitconfig", "/etc/keyboard", "/etc/credstore-notes",
            "/etc/java-17-openjdk/security/policy/unlimited/default_local.policy",
        ]
        #expect(Machine(files: files).settings == [])
    }

    @Test func `folders that are not looked into are absent, and the outermost are looked at`() {
        let many = (0...SystemSecrets.entriesMax).map { "/etc/many/\($0)" }
        let found = Machine(files: many + ["/etc/passwd", "/etc/small/x"]).settings
        #expect(found.first == "/etc/many" && !found.contains("/etc/passwd"))
    }

    @Test func `of the state of services, folders that root alone may enter are absent as wholes`()
    {
        let files = [
            "/var/lib/shut/a", "/var/lib/rancher/k3s/server/shut/token", "/var/lib/dpkg/status",
            "/var/lib/dpkg/secret", "/var/lib/x.key", "/var/lib/apt/lists/x",
        ]
        #expect(
            Machine(files: files).states == ["/var/lib/shut", "/var/lib/rancher/k3s/server/shut"]
        )
    }
}
