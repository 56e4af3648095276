// `lupin ca uninstall`: undoes `lupin ca install`, for earlier CAs too.
import ArgumentParser
import LupinIO
import LupinProxy
import LupinTLS

struct AuthorityUninstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Remove the local CA from the stores again.",
        discussion: """
            Removes the CA, and those that it replaced, and nothing else. The CA's files stay.

              lupin ca uninstall
              lupin ca uninstall --only system --dry-run
            """
    )

    @OptionGroup var options: AuthorityOptions
    @OptionGroup var stores: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Remove this CA instead, by its SHA-256 fingerprint; may be repeated.",
            valueName: "hex"
        )
    )
    var fingerprint: [AuthorityMark] = []

    @Flag(help: "Say what would be done, and do nothing.")
    var dryRun = false

    func run() throws {
        let ledger = InstalledAuthorities(stores.surroundings)
        var marks = fingerprint
        if marks.isEmpty {
            marks = ledger.all
            if let certificate = try options.files().storedCertificate {
                let current = AuthorityMark(certificate)
                if !marks.contains(current) { marks.append(current) }
            }
        }
        guard !marks.isEmpty else {
            StandardOutput.print("nothing was installed")
            return
        }
        var isComplete = true
        var isFound = false
        var isCertain = stores.includesAll
        for store in stores.storesToClear(isDryRun: dryRun) {
            for report in store.uninstall(marks) {
                isFound = true
                StandardOutput.print(report.text(isDryRun: dryRun))
                if report.isUnfinished { isComplete = false }
                // A store that can't be read may still hold it.
                if case .skipped = report.outcome { isCertain = false }
            }
        }
        if !isFound { StandardOutput.print("the CA is in none of the stores") }
        if !isComplete { throw ExitCode.failure }
        // When some stores are left out, they may still hold it.
        if !dryRun, isCertain { try ledger.remove(marks) }
    }
}
