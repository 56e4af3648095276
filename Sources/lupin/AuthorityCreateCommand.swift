// `lupin ca create`: creates the local CA; never overwrites an existing one.
import ArgumentParser
import LupinProxy
import LupinTLS

struct AuthorityCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make the local CA, unless there is one.",
        discussion: """
            `lupin serve` makes the CA by itself when a rule first needs it. To replace the CA, \
            run `lupin ca uninstall`, remove both files and run this command.

              lupin ca create
            """
    )

    @OptionGroup var options: AuthorityOptions

    func run() throws {
        let files = try options.files()
        let authority = try files.forCommand()
        if authority.isNew {
            StandardOutput.print("made \(authority.certificate.subjectText)")
            StandardOutput.print("certificate \(files.certificate)")
            StandardOutput.print("key         \(files.key)")
            StandardOutput.print(
                "No tool trusts it yet: see `lupin ca install`, or use `lupin exec`."
            )
        } else {
            StandardOutput.print("kept the CA that is there: \(files.certificate)")
        }
    }
}
