// What a confined command sees of the file system: /proc and /dev of its own, and what a view says.
import CLinux
import Glibc
import LupinCore
import LupinIO

extension Confinement {
    static let quiet = CONFINE_NO_SETUID | CONFINE_NO_DEVICES
    private static let inert = quiet | CONFINE_NO_PROGRAMS

    /// Mounts what the command sees; for the first process of a new process namespace.
    ///
    /// - Parameters:
    ///   - view: What it sees of the others.
    ///   - directory: The working folder, which is entered again: its mount may be another.
    /// - Returns: Whether something is covered where the command may write.
    /// - Throws: What could not be done.
    package static func mountFiles(
        _ view: ViewRequest,
        in directory: String
    ) throws(ConfinementProblem) -> Bool {
        try mount("none", at: "/", nil, CONFINE_RECURSIVE | CONFINE_PRIVATE)
        // Where another /proc is covered in part, as in containers, the kernel gives no new one.
        try mount("proc", at: "/proc", "proc", inert)
        // What is given is taken before all is read-only.
        var tree = try ConfinedTree(view)
        try attempt("a read-only tree, which takes Linux 5.12") { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe confine_seal("/") }
        }
        let changeable = CONFINE_BIND | CONFINE_REMOUNT | inert
        try mount("none", at: "/proc", nil, changeable)
        try mountDevices()
        let settings = ResolverSettings()
        try tree.build()
        try settings.replace()
        try tree.finish()
        for mountPoint in [
            "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs",
        ] {
            try protect(mountPoint)
        }
        try attempt("the working folder \(directory)") { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe chdir(directory) }
        }
        return tree.isCovering
    }

    /// Kernel settings that root may write by their owner alone, without a capability.
    private static func protect(_ mountPoint: String) throws(ConfinementProblem) {
        guard exists(mountPoint) else { return }
        try bind(mountPoint, at: mountPoint)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try mount("none", at: mountPoint, nil, flags | inert)
    }

    // MARK: /dev

    private static let devices = ["null", "zero", "full", "random", "urandom", "tty"]

    /// A /dev with the devices that every program may use, and terminals of its own.
    private static func mountDevices() throws(ConfinementProblem) {
        // Opened first, since they are the old one's.
        // O_PATH names a file, whatever is mounted over it. They are closed with all others.
        // Safety: the path is NUL-terminated for the call.
        let opened = devices.map { unsafe open("/dev/\($0)", 0o10_000_000 | O_CLOEXEC) }
        let terminal = openTerminal()
        try mount("tmpfs", at: "/dev", "tmpfs", CONFINE_NO_SETUID, "mode=755,size=64k")
        for (name, device) in zip(devices, opened) {
            guard device >= 0 else { continue }
            try makeFile("/dev/\(name)")
            try bind("/proc/self/fd/\(device)", at: "/dev/\(name)")
            close(device)
        }
        if terminal >= 0 {
            // Where programs look for the name of their terminal, too.
            try makeFile("/dev/console")
            try bind("/proc/self/fd/\(terminal)", at: "/dev/console")
            close(terminal)
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx"),
        ] {
            // Safety: both paths are NUL-terminated for the call.
            _ = unsafe symlink(target, "/dev/\(name)")
        }
        try makeFolder("/dev/pts")
        let terminals = CONFINE_NO_SETUID | CONFINE_NO_PROGRAMS
        let options = "newinstance,ptmxmode=0666,mode=620"
        try mount("devpts", at: "/dev/pts", "devpts", terminals, options)
        try makeFolder("/dev/shm")
        try mount("tmpfs", at: "/dev/shm", "tmpfs", quiet, "mode=1777")
        try makeFile(empty)
        try makeFolder(emptyFolder)
        for mountPoint in [empty, emptyFolder] { try bindReadOnly(mountPoint, at: mountPoint) }
    }

    /// The terminal of the standard streams, opened as a name; -1 for none.
    private static func openTerminal() -> Int32 {
        for stream in Int32(0)...2 {
            // Safety: ttyname's text is copied before the next call.
            guard let name = unsafe ttyname(stream) else { continue }
            return unsafe open(String(cString: name), 0o10_000_000 | O_CLOEXEC)
        }
        return -1
    }

    /// What stands for files and folders that are covered.
    static let empty = "/dev/.hidden"
    static let emptyFolder = "/dev/.hidden-folder"

    // MARK: Names

    fileprivate static let resolverSettings = "/dev/.resolv.conf"
    fileprivate static let hosts = "/dev/.hosts"

    /// Files that say how names are looked up; read before the view covers them.
    ///
    /// Names are asked of lupin as they are, since each one that is tried has an address there: a
    /// list of domains to be searched would make another name of it, and a file an address whose
    /// name no rule sees.
    fileprivate struct ResolverSettings {
        private let resolver = PublicFile.target(of: "/etc/resolv.conf")
        private let hosts = PublicFile.target(of: "/etc/hosts")
        private let known =
            ProcessFiles.content(of: "/etc/hosts", bytesMax: hostsBytesMax) ?? []

        func replace() throws(ConfinementProblem) {
            // Without the first file, too, the loopback interface is asked.
            try Confinement.replace(resolver, by: resolverSettings, "nameserver 127.0.0.1\n")
            try Confinement.replace(hosts, by: Confinement.hosts, ownHosts(known))
        }
    }

    fileprivate static let hostsBytesMax = 1 << 20

    /// The lines of a hosts file that name the loopback interface.
    package static func ownHosts(_ file: [UInt8]) -> String {
        let lines = file.split(separator: UInt8(ascii: "\n")).filter { line in
            let first = line.split { $0 == 0x20 || $0 == 0x09 }.first ?? []
            return IPAddress(String(decoding: first, as: UTF8.self))?.isLoopback == true
        }
        return lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
    }

    /// The first 32 names in these lines: a list of hosts that are blocked has very many.
    package static func ownNames(_ file: [UInt8]) -> [String] {
        var names: [String] = []
        for line in ownHosts(file).split(separator: "\n") {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            for name in words.dropFirst().map(String.init) where !names.contains(name) {
                guard names.count < 32 else { return names }
                names.append(name)
            }
        }
        return names
    }

    private static func replace(
        _ mountPoint: String?,
        by file: String,
        _ text: String
    ) throws(ConfinementProblem) {
        try makeFile(file)
        if !text.isEmpty { try write(text, to: file) }
        guard let mountPoint else { return }
        // It may have lain in /run, of which nothing is left.
        try makeMountPoint(mountPoint, isFolder: false)
        try bindReadOnly(file, at: mountPoint)
    }

    // MARK: Calls

    static func mount(
        _ source: String,
        at mountPoint: String,
        _ type: String?,
        _ flags: UInt32,
        _ options: String? = nil
    ) throws(ConfinementProblem) {
        try attempt("mounting \(mountPoint)") { () throws(SystemError) in
            // Safety: all texts are NUL-terminated for the call.
            try SystemCall.check {
                unsafe confine_mount(source, mountPoint, type, UInt(flags), options)
            }
        }
    }

    static func bind(_ source: String, at mountPoint: String) throws(ConfinementProblem) {
        try mount(source, at: mountPoint, nil, CONFINE_BIND | CONFINE_RECURSIVE)
    }

    static func exists(_ path: String) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access(path, F_OK) == 0
    }

    static func bindReadOnly(_ source: String, at mountPoint: String) throws(ConfinementProblem) {
        try bind(source, at: mountPoint)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try mount("none", at: mountPoint, nil, flags | quiet)
    }

    /// Makes what something can be mounted at, unless it is there, with the folders above.
    static func makeMountPoint(_ path: String, isFolder: Bool) throws(ConfinementProblem) {
        guard !exists(path) else { return }
        try makeMountPoint(CanonicalPath.parent(of: path), isFolder: true)
        try isFolder ? makeFolder(path) : makeFile(path)
    }

    private static func makeFile(_ path: String) throws(ConfinementProblem) {
        try attempt(path) { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            let raw = try SystemCall.check {
                unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
            }
            close(raw)
        }
    }

    private static func makeFolder(_ path: String) throws(ConfinementProblem) {
        try attempt(path) { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe mkdir(path, 0o755) }
        }
    }
}
