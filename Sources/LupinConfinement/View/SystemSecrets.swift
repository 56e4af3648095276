// Which files of the system are root's alone: private keys, passwords, the state of services.

import LupinCore

/// What a command of root's does not see of the system's settings and state.
package enum SystemSecrets {
    /// What is asked about a path itself, not about what it may be a link to.
    package struct Facts: Sendable {
        /// Whether it is root's, and neither the group nor others have any right to it.
        let isPrivate: Bool
        /// Whether folders may lie in it.
        let mayHoldFolders: Bool

        package init(isPrivate: Bool, mayHoldFolders: Bool) {
            self.isPrivate = isPrivate
            self.mayHoldFolders = mayHoldFolders
        }
    }

    /// What is secret although a group may read it, or by what it is.
    package static let named = [
        "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
        "/etc/sudoers.d", "/etc/krb5.keytab", "/etc/letsencrypt", "/etc/wireguard",
        "/etc/kubernetes", "/etc/NetworkManager", "/etc/ppp", "/etc/ipsec.secrets", "/etc/lupin",
        "/var/lib/lupin", "/var/lib/docker", "/var/lib/containers", "/var/lib/containerd",
        "/var/lib/kubelet", "/var/lib/systemd/credential.secret", "/var/backups", "/var/spool",
        "/var/mail",
    ]

    /// The folders in which keys of packages lie, which are for all.
    private static let packageKeys = "/etc/apt"

    /// How many entries are looked at, and how deep: that takes time at each start.
    package static let (entriesMax, depthMax) = (6000, 6)

    /// What is private below /etc: what root alone may read, keys by their names, and what is not
    /// looked at.
    package static func settings(
        _ list: CredentialCopies.List,
        _ facts: (String) -> Facts?
    ) -> [String] {
        var (absent, queue, seen) = ([String](), [("/etc", 0)], 0)
        var next = 0
        while next < queue.count {
            let (folder, depth) = queue[next]
            next += 1
            let entries = list(folder)
            seen += entries.count
            if depth == depthMax || seen > entriesMax, depth > 0 {
                absent.append(folder)
                continue
            }
            for (name, isFolder) in entries {
                let path = "\(folder)/\(name)"
                if isSecret(name, isFolder: isFolder, in: folder) || facts(path)?.isPrivate == true
                {
                    absent.append(path)
                } else if isFolder {
                    queue.append((path, depth + 1))
                }
            }
        }
        return absent
    }

    /// The folders below /var/lib that root alone may enter.
    package static func states(
        _ list: CredentialCopies.List,
        _ facts: (String) -> Facts?
    ) -> [String] {
        var (absent, queue, seen) = ([String](), [("/var/lib", 0)], 0)
        var next = 0
        while next < queue.count, seen < entriesMax {
            let (folder, depth) = queue[next]
            next += 1
            for (name, isFolder) in list(folder) where isFolder {
                seen += 1
                let path = "\(folder)/\(name)"
                guard let facts = facts(path) else { continue }
                if facts.isPrivate {
                    absent.append(path)
                } else if facts.mayHoldFolders, depth + 1 < depthMax {
                    queue.append((path, depth + 1))
                }
            }
        }
        return absent
    }

    private static func isSecret(_ name: String, isFolder: Bool, in folder: String) -> Bool {
        if isFolder {
            return ["private", "private_keys", "cryptsetup-keys.d"].contains(name)
                || name.hasPrefix("credstore")
        }
        return name.hasSuffix("-key.pem") || name.hasSuffix("_key")
            || name.hasSuffix(".key") && !CanonicalPath.isWithin(folder, packageKeys)
    }
}
