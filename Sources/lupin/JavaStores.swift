// How the trust stores of JDKs add and remove a CA, by keytool.
import LupinCore
import LupinIO
import LupinTLS

/// The `cacerts` of each JDK and JRE on this machine.
struct JavaStores: ClientStore {
    /// The default password of every `cacerts`; it is no secret.
    private static let password = "changeit"
    /// Stores that the system regenerates from its own.
    private static let fedBySystem = ["/etc/ssl/certs/java/", "/etc/pki/"]

    /// One store and the tool for it.
    private struct Keystore {
        let path: String
        let keytool: String
    }

    /// The program that put a certificate in a store.
    enum Source {
        /// keytool, run by lupin.
        case keytool
        /// The update of the system's store, from lupin's file there. Debian's update adds such
        /// copies under its own names, and never removes them.
        case system
    }

    private let surroundings: StoreSurroundings
    /// The sources whose certificates `uninstall` removes.
    private let sources: [Source]

    init(_ surroundings: StoreSurroundings, removing sources: [Source] = [.keytool, .system]) {
        self.surroundings = surroundings
        self.sources = sources
    }

    func locations(of mark: AuthorityMark) -> [String] {
        keystores.filter { aliases(of: mark, in: $0).map { !$0.isEmpty } ?? false }.map(\.path)
    }

    func install(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        from file: String
    ) -> [StoreReport] {
        let keystores = keystores
        guard !keystores.isEmpty else { return [report(.skipped("found no JDK with keytool"))] }
        return keystores.map { report(add(mark, certificate, file, to: $0)) }
    }

    func uninstall(_ marks: [AuthorityMark]) -> [StoreReport] {
        var reports: [StoreReport] = []
        for keystore in keystores {
            for mark in marks {
                let aliases = aliases(of: mark, in: keystore) ?? []
                for alias in aliases where isOurs(alias, mark) {
                    reports.append(report(remove(alias, from: keystore)))
                }
            }
        }
        return reports
    }

    // MARK: Steps

    private func add(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        _ file: String,
        to keystore: Keystore
    ) -> StoreReport.Outcome {
        guard let aliases = aliases(of: mark, in: keystore) else {
            return .failed("keytool can't read \(keystore.path) with the password changeit")
        }
        if let alias = aliases.first {
            let origin = alias == mark.name ? "" : ", from the system's store"
            return .skipped("has it already\(origin): \(keystore.path)")
        }
        let isFed = Self.fedBySystem.contains { keystore.path.hasPrefix(surroundings.root + $0) }
        guard PublicFile.mayChange(keystore.path) else {
            if isFed { return .skipped("\(keystore.path) gets it with the system's store") }
            let words = [keystore.keytool] + importing(mark, file, to: keystore)
            let command = words.map { StoreSurroundings.shell($0) }.joined(separator: " ")
            return .needsRoot("sudo \(command)")
        }
        if surroundings.isDryRun { return .done("added \(mark.name) to \(keystore.path)") }
        let added: Result<String, CommandFailure>
        do throws(SystemError) {
            let parent = surroundings.absolute("TMPDIR") ?? "/tmp"
            let folder = try PrivateFolder(in: parent)
            let copy = "\(folder.path)/ca.pem"
            try WholeFile.write(certificate.pem, to: copy)
            added = surroundings.run(keystore.keytool, importing(mark, copy, to: keystore))
        } catch {
            return .failed("no temporary file: \(error.message)")
        }
        if case .failure(let failure) = added { return .failed(failure.description) }
        let words = [keystore.keytool] + deleting(mark.name, from: keystore)
        return .done(
            "added \(mark.name) to \(keystore.path)",
            undo: words.map { StoreSurroundings.shell($0) }.joined(separator: " ")
        )
    }

    private func remove(_ alias: String, from keystore: Keystore) -> StoreReport.Outcome {
        let arguments = deleting(alias, from: keystore)
        guard PublicFile.mayChange(keystore.path) else {
            let words = [keystore.keytool] + arguments
            let command = words.map { StoreSurroundings.shell($0) }.joined(separator: " ")
            return .needsRoot("sudo \(command)")
        }
        if !surroundings.isDryRun,
            case .failure(let failure) = surroundings.run(keystore.keytool, arguments)
        {
            return .failed(failure.description)
        }
        return .done("removed \(alias) from \(keystore.path)")
    }

    private func isOurs(_ alias: String, _ mark: AuthorityMark) -> Bool {
        alias == mark.name && sources.contains(.keytool)
            || alias == "debian:\(mark.name).pem" && sources.contains(.system)
    }

    private func importing(
        _ mark: AuthorityMark,
        _ file: String,
        to keystore: Keystore
    ) -> [String] {
        ["-importcert", "-noprompt", "-alias", mark.name, "-file", file] + storeArguments(keystore)
    }

    private func deleting(_ alias: String, from keystore: Keystore) -> [String] {
        ["-delete", "-alias", alias] + storeArguments(keystore)
    }

    private func storeArguments(_ keystore: Keystore) -> [String] {
        ["-keystore", keystore.path, "-storepass", Self.password]
    }

    /// The aliases under which a store holds the CA; nil if keytool can't read the store.
    ///
    /// keytool prints two lines for each certificate: `alias, date, trustedCertEntry,` and its
    /// fingerprint.
    private func aliases(of mark: AuthorityMark, in keystore: Keystore) -> [String]? {
        let arguments = ["-J-Duser.language=en", "-list"] + storeArguments(keystore)
        guard case .success(let text) = surroundings.run(keystore.keytool, arguments) else {
            return nil
        }
        let lines = text.split(separator: "\n")
        return zip(lines, lines.dropFirst()).compactMap { entry, fingerprint in
            guard fingerprint.contains(mark.colons) else { return nil }
            return entry.split(separator: ",").first.map { String($0) }
        }
    }

    // MARK: Places

    /// The stores, each once, even when several paths lead to it.
    private var keystores: [Keystore] {
        let root = surroundings.root
        var seen: Set<String> = []
        var found: [Keystore] = []
        for folder in runtimes {
            for part in ["lib/security/cacerts", "jre/lib/security/cacerts"] {
                guard let path = PublicFile.target(of: "\(folder)/\(part)"),
                    // In an image, a link may lead to a store of the host.
                    root.isEmpty || path.hasPrefix(root + "/"), seen.insert(path).inserted,
                    let keytool = keytool(of: folder)
                else { continue }
                found.append(Keystore(path: path, keytool: keytool))
            }
        }
        return found
    }

    /// The runtime's own keytool knows its format; an image's keytool may not run here.
    private func keytool(of folder: String) -> String? {
        guard surroundings.root.isEmpty else { return surroundings.program("keytool") }
        return PublicFile.program("keytool", in: "\(folder)/bin")
            ?? surroundings.program("keytool")
    }

    /// The folders that may hold JDKs and JREs.
    private var runtimes: [String] {
        let root = surroundings.root
        var folders: [String] = []
        var parents = ["\(root)/usr/lib/jvm", "\(root)/usr/java", "\(root)/opt/java"]
        if root.isEmpty {
            if let named = surroundings.absolute("JAVA_HOME") { folders.append(named) }
            if let own = homeOfJava { folders.append(own) }
            if let home = surroundings.home {
                parents += ["\(home)/.sdkman/candidates/java", "\(home)/.jdks"]
            }
        }
        for parent in parents {
            folders += PublicFile.names(in: parent).map { "\(parent)/\($0)" }
        }
        return folders
    }

    /// The home folder that the `java` in PATH reports.
    private var homeOfJava: String? {
        guard let java = surroundings.program("java"),
            case .success(let text) = surroundings.run(
                java,
                ["-XshowSettings:properties", "-version"]
            )
        else { return nil }
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].split(separator: " ") == ["java.home"] else {
                continue
            }
            return String(parts[1].drop { $0 == " " })
        }
        return nil
    }

    private func report(_ outcome: StoreReport.Outcome) -> StoreReport {
        StoreReport(kind: .java, outcome: outcome)
    }
}
