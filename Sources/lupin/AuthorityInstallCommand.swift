// `lupin ca install`: adds the local CA to the trust stores of this machine.
import ArgumentParser
import LupinIO
import LupinProxy
import LupinTLS

struct AuthorityInstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Make the system, browsers and Java trust the local CA.",
        discussion: """
              system   what OpenSSL, GnuTLS, curl, git and most others read; needs root, and
                       otherwise prints the command to run
              nss      the databases of Chromium, Chrome and Firefox; needs certutil
              java     the cacerts of each JDK that can be found; needs keytool

              lupin ca install
              lupin ca install --only nss,java --dry-run
              lupin ca install --root "$PWD/image"  the system and Java of a mounted image

            Each step says how to undo it; `lupin ca uninstall` undoes all. The exit code is 1 \
            if something failed, or must be done as root.
            """
    )

    @OptionGroup var options: AuthorityOptions
    @OptionGroup var stores: StoreOptions
    @Flag(help: "Say what would be done, and do nothing.")
    var dryRun = false

    func run() throws {
        let files = try options.files()
        if dryRun, files.storedCertificate == nil {
            StandardOutput.print("would make a CA first: \(files.certificate)")
            return
        }
        let authority = try files.forCommand()
        if authority.isNew { StandardOutput.print("made the CA \(files.certificate)") }
        let mark = AuthorityMark(authority.certificate)
        if !dryRun { try InstalledAuthorities(stores.surroundings).add(mark) }
        var isComplete = true
        for store in stores.stores(isDryRun: dryRun) {
            for report in store.install(mark, authority.certificate, from: files.certificate) {
                StandardOutput.print(report.text(isDryRun: dryRun))
                if report.isUnfinished { isComplete = false }
            }
        }
        if !dryRun { RunningBypass.clear() }
        if !isComplete { throw ExitCode.failure }
    }
}
