// Why something can't be stored, or a store can't be opened, with messages.

import CSQLite
import Glibc

/// The errors of a store on disk.
package enum DiskProblem: Error, Sendable, Equatable {
    case cannotOpen(path: String, reason: String)
    /// Another process, or another store of this process, uses the folder.
    case inUse(path: String, pid: Int32?)
    /// The folder belongs to another user.
    case foreignFolder(path: String)
    /// No space: ENOSPC, EDQUOT, or less free space than must stay free.
    case full
    /// The body, or its facts, exceed the limit.
    case tooLarge
    /// A call failed with this errno.
    case io(Int32)
    /// The files on disk differ from what was stored.
    case damaged
    /// The store, or the draft, was closed earlier.
    case closed

    /// Maps an errno to a problem.
    init(code: Int32) {
        self = code == ENOSPC || code == EDQUOT ? .full : .io(code)
    }

    /// Maps an error of the index to a problem.
    init(index error: any Error) {
        if let problem = error as? DiskProblem {
            self = problem
            return
        }
        switch (error as? DatabaseError)?.code {
        case SQLITE_FULL: self = .full
        // A correct statement fails like this only if the schema is another.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
            self = .damaged
        case SQLITE_NOMEM: self = .io(ENOMEM)
        case SQLITE_BUSY, SQLITE_LOCKED: self = .io(EBUSY)
        case SQLITE_READONLY, SQLITE_PERM: self = .io(EACCES)
        case nil: self = .damaged
        default: self = .io(EIO)
        }
    }
}

extension DiskProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .cannotOpen(let path, let reason): "\(path) can't be used: \(reason)"
        case .inUse(let path, let pid?): "\(path) is in use by process \(pid)"
        case .inUse(let path, nil): "\(path) is in use by another process"
        case .foreignFolder(let path): "\(path) belongs to another user"
        case .full: "there is no room left on the disk"
        case .tooLarge: "it is larger than what may be stored"
        case .io(let code): SystemText.words(for: code)
        case .damaged: "what lies on the disk is damaged"
        case .closed: "it was closed before"
        }
    }
}

/// The kernel's error messages.
enum SystemText {
    static func words(for code: Int32) -> String {
        // Safety: strerror returns a static or thread-local C string; it is copied at once.
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
