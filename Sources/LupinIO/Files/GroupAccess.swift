// Whether an open file is writable for users whom its group or its access list admits.
import CLinux
import Glibc
import LupinCore

enum GroupAccess {
    /// Whether others than this user and root may write to a file because of its group.
    ///
    /// Many distributions give every user a group of their own, for which files are writable.
    static func admitsStrangers(to descriptor: Int32) -> Bool {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(descriptor, &status) == 0 else { return true }
        // An access list shows as rights of the group; devices are the system's affair.
        guard status.st_mode & 0o020 != 0, status.st_mode & S_IFMT != S_IFCHR else { return false }
        // Safety: the string outlives the call.
        if unsafe linux_has_access_list("/proc/self/fd/\(descriptor)") != 0 { return true }
        return !PrivateGroup.isPrivate(
            status.st_gid,
            of: geteuid(),
            groups: text(of: "/etc/group"),
            users: text(of: "/etc/passwd")
        )
    }

    private static func text(of path: String) -> String {
        guard let contents = try? ProtectedFile.read(path, bytesMax: 16 << 20) else { return "" }
        return String(copying: contents.bytes)
    }
}
