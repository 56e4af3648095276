// `lupin ca show`: describes the local CA, and lists the stores that hold it.
import ArgumentParser
import LupinCore
import LupinIO
import LupinProxy
import LupinTLS

struct AuthorityShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the local CA and where it is installed.",
        discussion: """
            The exit code is 1 if there is no CA, or if it can't be used.

              lupin ca show
            """
    )

    @OptionGroup var options: AuthorityOptions
    @OptionGroup var stores: StoreOptions

    func run() throws {
        let files = try options.files()
        let now = SystemCall.wallMicroseconds() / 1_000_000
        guard PublicFile.exists(files.certificate) else {
            throw CommandFailure(
                "there is no CA at \(files.certificate) yet; `lupin ca create` makes it"
            )
        }
        guard let certificate = files.storedCertificate else {
            throw CommandFailure("\(files.certificate) holds no readable certificate")
        }
        StandardOutput.print(
            """
            certificate  \(files.certificate)
            key          \(files.key)
            subject      \(certificate.subjectText)
            serial       \(HexText.text(certificate.serial))
            not before   \(certificate.notBefore.map(TimeText.text) ?? "unreadable")
            not after    \(certificate.notAfter.map(TimeText.text) ?? "unreadable")
            SHA-256      \(HexText.colons(certificate.fingerprint))
            pin          \(PinText.text(certificate.publicKeyDigest))
            """
        )
        let mark = AuthorityMark(certificate)
        var locations: [String] = []
        for store in stores.stores(isDryRun: true) { locations += store.locations(of: mark) }
        if locations.isEmpty { locations = ["nowhere; see `lupin ca install`"] }
        for (i, location) in locations.enumerated() {
            StandardOutput.print("\(i == 0 ? "installed in " : "             ")\(location)")
        }
        do throws(AuthorityFailure) {
            _ = try files.load(now: now)
        } catch {
            throw CommandFailure("it can't be used: \(error)")
        }
    }
}
