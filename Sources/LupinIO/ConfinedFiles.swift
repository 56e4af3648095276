// What a confined command sees of the file system: /proc and /dev of its own, and no hidden file.
import CLinux
import Glibc
import LupinCore

/// What a confined command sees of the file system.
package struct ConfinedView {
    /// Files and folders that appear empty.
    let hidden: [String]

    package init(hidden: [String]) { self.hidden = hidden }
}

extension Confinement {
    private static let quiet = CONFINE_NO_SETUID | CONFINE_NO_DEVICES
    private static let inert = quiet | CONFINE_NO_PROGRAMS

    /// Mounts what the command sees; for the first process of a new process namespace.
    ///
    /// - Parameters:
    ///   - view: What it sees of the others.
    ///   - directory: The working folder, which is entered again: its mount may be another.
    /// - Throws: What could not be done.
    package static func mountFiles(
        _ view: ConfinedView,
        in directory: String
    ) throws(ConfinementProblem) {
        try mount("none", at: "/", nil, CONFINE_RECURSIVE | CONFINE_PRIVATE)
        // Where another /proc is covered in part, as in containers, the kernel gives no new one.
        try mount("proc", at: "/proc", "proc", inert)
        for place in ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"] {
            try protect(place)
        }
        try seal("/sys")
        try mountDevices()
        try replaceResolverSettings()
        // A device has nothing to hide, such as /dev/null where no log is wanted.
        let places = view.hidden.compactMap(resolved).filter { !isDevice($0) }
        for folder in ancestors(of: places) { try bind(folder, at: folder) }
        // What lies in a hidden folder is gone with it.
        for place in places where exists(place) { try hide(place) }
        try attempt("the working folder \(directory)") { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe chdir(directory) }
        }
    }

    /// Kernel settings that root may write by their owner alone, without a capability.
    private static func protect(_ place: String) throws(ConfinementProblem) {
        guard exists(place) else { return }
        try bind(place, at: place)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try mount("none", at: place, nil, flags | inert)
    }

    private static func seal(_ place: String) throws(ConfinementProblem) {
        guard exists(place) else { return }
        do throws(ConfinementProblem) {
            try attempt(place) { () throws(SystemError) in
                // Safety: the path is NUL-terminated for the call.
                try SystemCall.check { unsafe confine_seal(place) }
            }
        } catch {
            // Only root could write there at all.
            if geteuid() == 0 { throw error }
        }
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

    /// What stands for hidden files and folders.
    private static let empty = "/dev/.hidden"
    private static let emptyFolder = "/dev/.hidden-folder"

    // MARK: Names

    private static let resolverSettings = "/dev/.resolv.conf"
    private static let hosts = "/dev/.hosts"

    /// Has names asked of lupin as they are, since each one that is tried has an address there: a
    /// list of domains to be searched would make another name of it, and a file an address whose
    /// name no rule sees.
    private static func replaceResolverSettings() throws(ConfinementProblem) {
        let known = ProcessFiles.content(of: "/etc/hosts", bytesMax: hostsBytesMax) ?? []
        // Without the first file, too, the loopback interface is asked.
        try replace("/etc/resolv.conf", by: resolverSettings, "nameserver 127.0.0.1\n")
        try replace("/etc/hosts", by: hosts, ownHosts(known))
    }

    private static let hostsBytesMax = 1 << 20

    /// The lines of a hosts file that name the loopback interface.
    package static func ownHosts(_ file: [UInt8]) -> String {
        let lines = file.split(separator: UInt8(ascii: "\n")).filter { line in
            let first = line.split { $0 == 0x20 || $0 == 0x09 }.first ?? []
            return IPAddress(String(decoding: first, as: UTF8.self))?.isLoopback == true
        }
        return lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
    }

    private static func replace(
        _ path: String,
        by file: String,
        _ text: String
    ) throws(ConfinementProblem) {
        try makeFile(file)
        if !text.isEmpty { try write(text, to: file) }
        guard let place = resolved(path) else { return }
        try bind(file, at: place)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try mount("none", at: place, nil, flags | quiet)
    }

    // MARK: Hidden

    private static func hide(_ place: String) throws(ConfinementProblem) {
        let isFolder = isFolder(place)
        try bind(isFolder ? emptyFolder : empty, at: place)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try mount("none", at: place, nil, flags | quiet)
    }

    /// The folders above, from the outermost on.
    ///
    /// Each is mounted at itself, since a mount point can't be renamed: else others could take the
    /// place of the whole path, and lupin would read them.
    package static func ancestors(of places: [String]) -> [String] {
        var folders: Set<String> = []
        for place in places {
            var path = Substring(place)
            while let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                path = path[..<slash]
                folders.insert(String(path))
            }
        }
        let covered = ["/dev", "/proc", "/sys"]
        return folders.filter { folder in !covered.contains { "\(folder)/".hasPrefix("\($0)/") } }
            .sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    /// The file that a path leads to; nil where there is none.
    private static func resolved(_ path: String) -> String? {
        // Safety: realpath returns memory of malloc's, which is copied and freed.
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    // MARK: Calls

    private static func mount(
        _ source: String,
        at place: String,
        _ type: String?,
        _ flags: UInt32,
        _ options: String? = nil
    ) throws(ConfinementProblem) {
        try attempt("mounting \(place)") { () throws(SystemError) in
            // Safety: all texts are NUL-terminated for the call.
            try SystemCall.check {
                unsafe confine_mount(source, place, type, UInt(flags), options)
            }
        }
    }

    private static func bind(_ source: String, at place: String) throws(ConfinementProblem) {
        try mount(source, at: place, nil, CONFINE_BIND | CONFINE_RECURSIVE)
    }

    private static func exists(_ path: String) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access(path, F_OK) == 0
    }

    private static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }

    private static func isDevice(_ path: String) -> Bool { kind(path) == S_IFCHR }

    /// The bits of its mode that say what it is; nil where there is nothing.
    private static func kind(_ path: String) -> mode_t? {
        var facts = stat()
        // Safety: stat fills the struct it is given.
        return unsafe stat(path, &facts) == 0 ? facts.st_mode & S_IFMT : nil
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
