// The users of this machine, by number and name.
import CLinux
import Glibc

package enum SystemUsers {
    /// The effective user of this process.
    package static var own: UInt32 { geteuid() }

    /// The name of a user; nil when it has none.
    ///
    /// May ask a directory service: for commands only.
    package static func name(of user: UInt32) -> String? {
        // Safety: a C struct, all zeros until the call fills it and the buffer it points to.
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 16 << 10)
        // Safety: the call writes no more than the given length, and the name before its end.
        let result = unsafe getpwuid_r(user, &entry, &texts, texts.count, &found)
        guard result == 0, unsafe found != nil, let name = unsafe entry.pw_name else { return nil }
        return unsafe String(cString: name)
    }

    /// The number of a user; nil when no user has that name.
    ///
    /// May ask a directory service: for start-up only.
    package static func number(of name: String) -> UInt32? {
        // Safety: a C struct, all zeros until the call fills it and the buffer it points to.
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 16 << 10)
        // Safety: the call writes no more than the given length.
        let result = unsafe getpwnam_r(name, &entry, &texts, texts.count, &found)
        guard result == 0, unsafe found != nil else { return nil }
        return unsafe entry.pw_uid
    }
}
