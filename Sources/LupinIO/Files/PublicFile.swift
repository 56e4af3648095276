// Writes and finds files that every user may read.
import CLinux
import Glibc

/// Files in folders of the system or of other programs.
package enum PublicFile {
    /// Writes a file of mode 0644 atomically: readers see the old content or the new one.
    ///
    /// Missing folders are made with mode 0755.
    /// - Parameters:
    ///   - bytes: The content.
    ///   - path: The file's path.
    /// - Throws: The kernel's error.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let folder = ProtectedFile.parts(of: path).folder
        try makeFolder(folder)
        // Another user can't foresee the name, and so can't put a link there.
        let temporary = "\(folder)/.lupin-\(UInt64.random(in: .min ... .max))"
        // A trust store is useless to users who can't read it.
        try WholeFile.replace(path, with: bytes, by: temporary, mode: 0o644, ignoringUmask: true)
    }

    /// Whether this process may add files to a folder, or make the folder if it is missing.
    package static func mayWrite(to folder: String) -> Bool {
        var folder = folder
        while true {
            // Safety: the path is NUL-terminated for the calls.
            if unsafe access(folder, F_OK) == 0 { return unsafe access(folder, W_OK | X_OK) == 0 }
            let above = ProtectedFile.parts(of: folder).folder
            if above == folder { return false }
            folder = above
        }
    }

    /// Whether this process may change a file.
    package static func mayChange(_ path: String) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access(path, W_OK) == 0
    }

    /// Whether a file exists at a path.
    package static func exists(_ path: String) -> Bool { FileStatus(path: path) != nil }

    /// The names in a folder, sorted; empty when it can't be read.
    package static func names(in folder: String) -> [String] {
        entries(in: folder).map(\.name)
    }

    /// The same, each with whether it may be a folder.
    package static func entries(in folder: String) -> [(name: String, isFolder: Bool)] {
        let entries = (try? ProcessFiles.entries(in: folder)) ?? []
        return entries.filter { $0.name != "." && $0.name != ".." }.sorted { $0.name < $1.name }
    }

    /// The path of a file with all links resolved; nil if there is no file.
    package static func target(of path: String) -> String? {
        // Safety: realpath allocates the text, which is copied and freed here.
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    /// The path of a program in the folders of a search path; nil if it is in none.
    package static func program(_ name: String, in searchPath: String) -> String? {
        for folder in searchPath.split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/\(name)"
            // Safety: the path is NUL-terminated for the call.
            if FileStatus(path: path)?.isRegular == true, unsafe access(path, X_OK) == 0 {
                return path
            }
        }
        return nil
    }

    private static func makeFolder(_ path: String) throws(SystemError) {
        guard !path.isEmpty, !exists(path) else { return }
        let above = ProtectedFile.parts(of: path).folder
        if above != path { try makeFolder(above) }
        do throws(SystemError) {
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe mkdir(path, 0o755) }
        } catch {
            // Another process may have made it meanwhile.
            if error.code != EEXIST { throw error }
        }
    }
}
