// As whom and where this process runs: the user, the home, the machine, and the process itself.
import Glibc

package enum ProcessOwner {
    /// The effective user's number.
    package static var userNumber: UInt32 { geteuid() }

    /// The number of this process.
    package static var processNumber: Int32 { getpid() }

    /// The effective user's name, or its number if nobody knows a name.
    package static var userName: String {
        // Safety: the entry is read before any other call could overwrite it.
        guard let entry = unsafe getpwuid(geteuid()), let name = unsafe entry.pointee.pw_name else {
            return String(geteuid())
        }
        return unsafe String(cString: name)
    }

    /// The home directory: `HOME`, where that is a directory of the effective user, or else what
    /// the system knows of the user; nil where neither says.
    ///
    /// After `sudo` without `-H` it names another user's, and in a container the system may not
    /// know the user at all.
    package static func home(_ environment: [String: String]) -> String? {
        if let own = environment["HOME"], own.hasPrefix("/"),
            FileStatus(path: own)?.user == geteuid()
        {
            return own
        }
        return accountHome
    }

    /// The home directory that the system knows of the effective user, whatever `HOME` says.
    package static var accountHome: String? {
        // Safety: as above.
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else {
            return nil
        }
        let path = unsafe String(cString: home)
        return path.hasPrefix("/") ? path : nil
    }

    /// The working directory; empty where it is gone.
    package static var directory: String {
        // Safety: without a buffer of ours the call makes one, which is freed once it is read.
        guard let path = unsafe getcwd(nil, 0) else { return "" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The first label of the machine's name.
    package static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        // Safety: the kernel writes at most the length it is told, less than the array has.
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let bytes = name.prefix { $0 != 0 && $0 != 0x2E }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What tells this machine from others, however they are called: machine-id(5), or where there
    /// is none the kernel's name for this run of it.
    ///
    /// It is not to be shown to others; a digest of it may be.
    package static var machine: String {
        for path in ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"] {
            let content = ProcessFiles.content(of: path, bytesMax: 256) ?? []
            let line = content.prefix { $0 != 0x0A }
            if line.count >= 32 { return String(decoding: line, as: UTF8.self) }
        }
        return hostName
    }
}
