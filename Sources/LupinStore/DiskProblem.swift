// Why something can't be stored, or a store can't be opened, and the words for it.

import GRDB
import Glibc

/// What a store on disk throws.
package enum DiskProblem: Error, Sendable, Equatable {
    case cannotOpen(path: String, reason: String)
    /// Another process, or another store of this one, has the folder.
    case inUse(path: String, pid: Int32?)
    /// The folder belongs to another user.
    case foreignFolder(path: String)
    /// No room: ENOSPC, EDQUOT, or less free than must stay free.
    case full
    /// More than one body, or its facts, may have.
    case tooLarge
    /// A call failed, with this errno.
    case io(Int32)
    /// What lies on the disk is not what was put there.
    case damaged
    /// The store, or the draft, was given up before.
    case closed

    /// What an errno means here.
    init(code: Int32) {
        self = code == ENOSPC || code == EDQUOT ? .full : .io(code)
    }

    /// What an error of the index means here.
    init(index error: any Error) {
        if let problem = error as? DiskProblem {
            self = problem
            return
        }
        switch (error as? DatabaseError)?.resultCode.primaryResultCode {
        case .SQLITE_FULL: self = .full
        // A statement that was right when it was written fails only where the schema is another.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_CONSTRAINT:
            self = .damaged
        case .SQLITE_NOMEM: self = .io(ENOMEM)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .io(EBUSY)
        case .SQLITE_READONLY, .SQLITE_PERM: self = .io(EACCES)
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

/// The kernel's words.
enum SystemText {
    static func words(for code: Int32) -> String {
        // Safety: strerror returns a static or thread-local C string; it is copied at once.
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
