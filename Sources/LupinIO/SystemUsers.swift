// The users of this machine, by number and name.
import Glibc

package enum SystemUsers {
    /// The effective user of this process.
    package static var own: UInt32 { geteuid() }

    /// The number of a user; nil when there is none of that name.
    ///
    /// May ask a directory service: for start-up only.
    package static func number(of name: String) -> UInt32? {
        // Safety: a struct of C, all zeros until the call fills it and the texts it points to.
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 16 << 10)
        // Safety: nothing is written beyond the length that the call is told.
        let result = unsafe getpwnam_r(name, &entry, &texts, texts.count, &found)
        guard result == 0, unsafe found != nil else { return nil }
        return unsafe entry.pw_uid
    }
}
