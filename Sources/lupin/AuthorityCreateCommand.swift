// `lupin ca create`: creates the local CA; never overwrites an existing one.
import ArgumentParser
import LupinProxy
import LupinTLS

struct AuthorityCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make the local authority, unless there is one.",
        discussion: """
            `lupin serve` does so by itself when a rule needs it for the first time. To have \
            another one, run `lupin ca uninstall`, remove both files and come back.

              lupin ca create
            """
    )

    @OptionGroup var options: AuthorityOptions

    func run() throws {
        let files = try options.files()
        let authority = try files.forCommand()
        if authority.isNew {
            print("made \(authority.certificate.subjectText)")
            print("certificate \(files.certificate)")
            print("key         \(files.key)")
            print("No tool trusts it yet: see `lupin ca install`, or use `lupin exec`.")
        } else {
            print("kept the authority that is there: \(files.certificate)")
        }
    }
}
