// A program outside of a confinement, which doesn't see what the confined command can change.
import CLinux
import Glibc

/// How lupin runs a token command beside a confined one: it covers the paths that the confined
/// command may write, so that no script, library or setting in them is ever used, whatever names
/// it.
package enum ApartProcess {
    /// The command of lupin that does it; not for people.
    package static let commandName = "apart"

    /// The words that run a program without these places.
    package static func words(_ words: [String], without paths: [String]) -> [String] {
        if paths.isEmpty { return words }
        let options = paths.flatMap { ["--without", $0] }
        return ["/proc/self/exe", commandName] + options + ["--"] + words
    }

    /// Becomes a program that finds nothing in these places, and can't write there.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - paths: Absolute paths without links. What is missing is skipped.
    ///   - complain: Prints why it can't be run; the exit code is 126 or 127 then.
    package static func run(
        _ words: [String],
        without paths: [String],
        complain: (String) -> Void
    ) -> Never {
        do throws(ConfinementProblem) {
            try Confinement.enter(CONFINE_NEW_USER | CONFINE_NEW_MOUNTS)
            let flags = CONFINE_RECURSIVE | CONFINE_PRIVATE
            try Confinement.mount("none", at: "/", nil, flags)
            for path in paths { try cover(path) }
        } catch {
            complain(error.message)
            exit(126)
        }
        Confinement.become(words) { problem in
            complain(
                "\(problem); beside a confined command nothing is seen of "
                    + paths.joined(separator: ", ")
            )
        }
    }

    private static func cover(_ path: String) throws(ConfinementProblem) {
        guard let kind = ConfinedTree.kind(path) else { return }
        guard kind == S_IFDIR else { return try Confinement.bind("/dev/null", at: path) }
        try ConfinedTree.mountEmpty(path)
        let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
        try Confinement.mount("none", at: path, nil, flags | Confinement.quiet)
    }
}
