// How the system-wide store adds and removes a CA, on each family of Linux.
import LupinIO
import LupinTLS

/// The store that OpenSSL, GnuTLS and most other libraries read.
struct SystemStore: ClientStore {
    /// How a family of distributions keeps additional CAs.
    private struct Family {
        let folder: String
        let program: String
        let arguments: [String]
        /// The arguments of an update that follows a removal.
        let removalArguments: [String]

        init(_ folder: String, _ program: String, _ arguments: [String], removing: [String]) {
            self.folder = folder
            self.program = program
            self.arguments = arguments
            removalArguments = removing
        }
    }

    /// The folders that are unique to one family come first.
    private static let families = [
        // Fedora, RHEL and relatives.
        Family(
            "/etc/pki/ca-trust/source/anchors",
            "update-ca-trust",
            ["extract"],
            removing: ["extract"]
        ),
        // openSUSE.
        Family("/etc/pki/trust/anchors", "update-ca-certificates", [], removing: ["--fresh"]),
        // Arch.
        Family("/etc/ca-certificates/trust-source/anchors", "update-ca-trust", [], removing: []),
        // Debian, Ubuntu, Alpine. Without --fresh, dead links stay behind in /etc/ssl/certs.
        Family(
            "/usr/local/share/ca-certificates",
            "update-ca-certificates",
            [],
            removing: ["--fresh"]
        ),
    ]

    private let surroundings: StoreSurroundings

    init(_ surroundings: StoreSurroundings) { self.surroundings = surroundings }

    func locations(of mark: AuthorityMark) -> [String] {
        guard let family, isHeld(mark, family) else { return [] }
        return [path(mark, family)]
    }

    func install(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        from file: String
    ) -> [StoreReport] {
        guard let family else {
            return [
                report(
                    .skipped("found none: neither update-ca-certificates nor update-ca-trust")
                )
            ]
        }
        let path = path(mark, family)
        let mayWrite = PublicFile.mayWrite(to: surroundings.root + family.folder)
        let isThere = isHeld(mark, family)
        if isThere {
            // Without write access, the presence of the file must suffice.
            guard mayWrite, !surroundings.isDryRun else {
                return [report(.skipped("has it already: \(path)"))]
            }
        } else {
            guard mayWrite else {
                let copy = StoreSurroundings.shell("sudo", "install", "-m", "644", file, path)
                return [report(.needsRoot("\(copy) && sudo \(update(family).text)"))]
            }
            if surroundings.isDryRun {
                return [report(.done("added \(path) and run \(update(family).text)"))]
            }
            do throws(SystemError) { try PublicFile.write(certificate.pem, to: path) } catch {
                return [report(.failed("cannot write \(path): \(error.message)"))]
            }
        }
        if let failure = run(update(family)) {
            // Otherwise the next update would install it without the user's knowledge.
            if !isThere { try? FileRename.remove(path) }
            return [report(.failed(failure.description))]
        }
        let deed = isThere ? "found" : "added"
        return [
            report(
                .done(
                    "\(deed) \(path) and ran \(update(family).text)",
                    undo: removal([path], family)
                )
            )
        ]
    }

    func uninstall(_ marks: [AuthorityMark]) -> [StoreReport] {
        guard let family else { return [] }
        let paths = marks.filter { isHeld($0, family) }.map { path($0, family) }
        guard !paths.isEmpty else { return [] }
        guard PublicFile.mayWrite(to: surroundings.root + family.folder) else {
            return [report(.needsRoot(removal(paths, family)))]
        }
        let list = paths.joined(separator: " ")
        if surroundings.isDryRun {
            return [report(.done("removed \(list) and run \(clearance(family).text)"))]
        }
        for path in paths {
            do throws(SystemError) { try FileRename.remove(path) } catch {
                return [report(.failed("cannot remove \(path): \(error.message)"))]
            }
        }
        if let failure = run(clearance(family)) {
            return [report(.failed("removed \(list), but \(failure)"))]
        }
        return [report(.done("removed \(list) and ran \(clearance(family).text)"))]
    }

    // MARK: Steps

    private var family: Family? {
        let root = surroundings.root
        let found = Self.families.first { PublicFile.exists(root + $0.folder) }
        guard root.isEmpty else { return found }
        if let found, surroundings.systemProgram(found.program) != nil { return found }
        // The folder may be missing when no CA has been added yet.
        return Self.families.last.flatMap {
            surroundings.systemProgram($0.program) == nil ? nil : $0
        }
    }

    private func path(_ mark: AuthorityMark, _ family: Family) -> String {
        "\(surroundings.root)\(family.folder)/\(mark.name).crt"
    }

    /// Whether our file exists and holds the same certificate.
    private func isHeld(_ mark: AuthorityMark, _ family: Family) -> Bool {
        let path = path(mark, family)
        guard let file = try? FileContent(path: path, bytesMax: 1 << 20) else { return false }
        return mark.isIn(pem: file.bytes)
    }

    /// A program with its arguments.
    private struct Command {
        let words: [String]

        /// The command with shell quoting.
        var text: String { words.map { StoreSurroundings.shell($0) }.joined(separator: " ") }
    }

    private func run(_ command: Command) -> CommandFailure? {
        guard let name = command.words.first, let program = surroundings.systemProgram(name) else {
            return CommandFailure("\(command.text): the program isn't installed")
        }
        switch surroundings.run(program, Array(command.words.dropFirst())) {
        case .success: return nil
        case .failure(let failure): return failure
        }
    }

    private func update(_ family: Family) -> Command {
        command([family.program] + family.arguments)
    }

    private func clearance(_ family: Family) -> Command {
        command([family.program] + family.removalArguments)
    }

    /// In an image its own program runs: ours would change the host.
    private func command(_ words: [String]) -> Command {
        let root = surroundings.root
        return Command(words: root.isEmpty ? words : ["chroot", root] + words)
    }

    private func removal(_ paths: [String], _ family: Family) -> String {
        let list = paths.map { StoreSurroundings.shell($0) }.joined(separator: " ")
        return "sudo rm \(list) && sudo \(clearance(family).text)"
    }

    private func report(_ outcome: StoreReport.Outcome) -> StoreReport {
        StoreReport(kind: .system, outcome: outcome)
    }
}
