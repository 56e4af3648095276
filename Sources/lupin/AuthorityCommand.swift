// `lupin ca`: the commands about the local CA, and what they share.
import ArgumentParser
import LupinIO
import LupinPolicy
import LupinProxy
import LupinTLS

struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca",
        abstract: "Make, show, export, install or uninstall the local CA.",
        discussion: """
            To decrypt a host, lupin signs a certificate for it with a certificate authority \
            (CA) of your own. lupin makes the CA on this machine, and its key never leaves the \
            machine. Tools must trust this CA:

              lupin ca install       makes the system, browsers and Java trust it
              lupin ca uninstall     undoes that
            """,
        subcommands: [
            AuthorityShowCommand.self, AuthorityCreateCommand.self, AuthorityExportCommand.self,
            AuthorityInstallCommand.self, AuthorityUninstallCommand.self,
        ]
    )
}

/// The option for the rules file whose settings name the CA's files.
struct AuthorityOptions: ParsableArguments {
    @Option(rulesFile: "The rules file, for intercept.ca.")
    var rulesFile: String?

    func files() throws -> AuthorityFiles {
        let settings = try LocatedRules.toLookAt(explicit: rulesFile).configuration.settings
        do throws(AuthorityFailure) {
            return try AuthorityFiles(
                settings.intercept.authority,
                environment: LocatedRules.environment
            )
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}

/// Ends a command with exit code 1 and one sentence.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension AuthorityFiles {
    /// Loads the CA, or creates it when there is none; `isNew` distinguishes the two.
    /// - Throws: A sentence that says why there is no CA.
    func forCommand() throws(CommandFailure) -> CertificateAuthority {
        let now = SystemCall.wallMicroseconds() / 1_000_000
        if !PublicFile.exists(certificate), ProcessOwner.userName == "root",
            let user = LocatedRules.environment["SUDO_USER"]
        {
            throw CommandFailure(
                """
                root has no CA at \(certificate), and one of root's would be of no use to \
                \(user); run the command without sudo
                """
            )
        }
        do throws(AuthorityFailure) { return try loadOrCreate(now: now) } catch {
            throw CommandFailure("\(error)")
        }
    }
}
