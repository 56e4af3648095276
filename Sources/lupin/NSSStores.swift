// How the databases of Chromium, Chrome and Firefox add and remove a CA, by certutil.
import LupinIO
import LupinTLS

/// The databases of a user's browsers.
struct NSSStores: ClientStore {
    private static let packages =
        "the package libnss3-tools (Debian, Ubuntu), nss-tools (Fedora) or nss (Arch)"

    private let surroundings: StoreSurroundings

    init(_ surroundings: StoreSurroundings) { self.surroundings = surroundings }

    func locations(of mark: AuthorityMark) -> [String] {
        guard let certutil else { return [] }
        return databases.filter { isHeld(mark, in: $0, certutil) }
    }

    func install(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        from file: String
    ) -> [StoreReport] {
        guard let certutil else {
            let reason = "certutil isn't installed, so browsers don't know of it; install "
            return [report(.skipped(reason + Self.packages))]
        }
        var reports: [StoreReport] = []
        var databases = databases
        if let home = surroundings.home, !databases.contains(where: { $0.hasSuffix("nssdb") }) {
            let folder = "\(home)/.pki/nssdb"
            switch make(folder, certutil) {
            case .success:
                databases.append(folder)
                reports.append(report(.done("made the empty database \(folder) for Chromium")))
            case .failure(let failure): reports.append(report(.failed(failure.description)))
            }
        }
        return reports
            + databases.map { report(add(mark, certificate, to: $0, certutil)) }
    }

    func uninstall(_ marks: [AuthorityMark]) -> [StoreReport] {
        guard let certutil else {
            // Whether a database holds the CA is unknown; without any database, none does.
            guard !databases.isEmpty else { return [] }
            return [report(.skipped("certutil isn't installed; install \(Self.packages)"))]
        }
        var reports: [StoreReport] = []
        for database in databases {
            for mark in marks {
                guard let name = heldName(mark, in: database, certutil) else { continue }
                let arguments = ["-D", "-d", "sql:\(database)", "-n", name]
                if !surroundings.isDryRun,
                    case .failure(let failure) = surroundings.run(certutil, arguments)
                {
                    reports.append(report(.failed(failure.description)))
                } else {
                    reports.append(report(.done("removed \(name) from \(database)")))
                }
            }
        }
        return reports
    }

    // MARK: Databases

    private var certutil: String? { surroundings.program("certutil") }

    /// The folders with a database: the shared ones, and one for each profile of Firefox.
    private var databases: [String] {
        guard let home = surroundings.home else { return [] }
        let data = surroundings.absolute("XDG_DATA_HOME") ?? "\(home)/.local/share"
        let configuration = surroundings.absolute("XDG_CONFIG_HOME") ?? "\(home)/.config"
        var folders = [
            "\(home)/.pki/nssdb", "\(data)/pki/nssdb", "\(home)/snap/chromium/current/.pki/nssdb",
        ]
        var profiles = [
            "\(home)/.mozilla/firefox", "\(configuration)/mozilla/firefox",
            "\(home)/snap/firefox/common/.mozilla/firefox",
        ]
        for application in PublicFile.names(in: "\(home)/.var/app") {
            folders.append("\(home)/.var/app/\(application)/.pki/nssdb")
            profiles.append("\(home)/.var/app/\(application)/.mozilla/firefox")
        }
        for folder in profiles {
            folders += PublicFile.names(in: folder).map { "\(folder)/\($0)" }
        }
        return folders.filter { PublicFile.exists("\($0)/cert9.db") }
    }

    private func make(_ folder: String, _ certutil: String) -> Result<Void, CommandFailure> {
        guard !surroundings.isDryRun else { return .success(()) }
        do throws(SystemError) { try WholeFile.makeDirectories(folder) } catch {
            return .failure(CommandFailure("cannot make \(folder): \(error.message)"))
        }
        return surroundings.run(certutil, ["-N", "--empty-password", "-d", "sql:\(folder)"])
            .map { _ in }
    }

    // MARK: Certificates

    private func add(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        to database: String,
        _ certutil: String
    ) -> StoreReport.Outcome {
        if isHeld(mark, in: database, certutil) { return .skipped("has it already: \(database)") }
        if surroundings.isDryRun { return .done("added \(mark.name) to \(database)") }
        let added: Result<String, CommandFailure>
        do throws(SystemError) {
            // The CA's own file may hold more than one certificate.
            let parent = surroundings.absolute("TMPDIR") ?? "/tmp"
            let folder = try PrivateFolder(in: parent)
            let file = "\(folder.path)/ca.pem"
            try WholeFile.write(certificate.pem, to: file)
            let databaseArguments = ["-d", "sql:\(database)", "-n", mark.name]
            added = surroundings.run(
                certutil,
                ["-A", "-a", "-i", file, "-t", "C,,"] + databaseArguments
            )
        } catch {
            return .failed("no temporary file: \(error.message)")
        }
        if case .failure(let failure) = added { return .failed(failure.description) }
        guard let name = heldName(mark, in: database, certutil) else {
            return .failed("certutil added nothing to \(database)")
        }
        let undo = StoreSurroundings.shell("certutil", "-D", "-d", "sql:\(database)", "-n", name)
        return .done(
            "added \(name) to \(database); browsers that run see it when they start next",
            undo: undo
        )
    }

    private func isHeld(_ mark: AuthorityMark, in database: String, _ certutil: String) -> Bool {
        heldName(mark, in: database, certutil) != nil
    }

    /// The nickname under which a database holds the CA.
    ///
    /// For one nickname certutil shows all certificates with the same subject, and two CAs made on
    /// one day share a subject; so the CA's own nickname is tried first.
    private func heldName(
        _ mark: AuthorityMark,
        in database: String,
        _ certutil: String
    ) -> String? {
        guard case .success(let list) = surroundings.run(certutil, ["-L", "-d", "sql:\(database)"])
        else { return nil }
        let names = list.split(separator: "\n")
            .compactMap { line in line.split(separator: " ").first.map { String($0) } }
            .filter { $0.hasPrefix("lupin-") }
        let ownFirst = names.filter { $0 == mark.name } + names.filter { $0 != mark.name }
        for name in ownFirst {
            let arguments = ["-L", "-d", "sql:\(database)", "-n", name, "-a"]
            guard case .success(let text) = surroundings.run(certutil, arguments) else { continue }
            if mark.isIn(pem: Array(text.utf8)) { return name }
        }
        return nil
    }

    private func report(_ outcome: StoreReport.Outcome) -> StoreReport {
        StoreReport(kind: .nss, outcome: outcome)
    }
}
