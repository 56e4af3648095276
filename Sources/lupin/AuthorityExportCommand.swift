// `lupin ca export`: writes the CA's certificate in the format of a trust store, never its key.
import ArgumentParser
import LupinCore
import LupinIO
import LupinProxy
import LupinTLS

struct AuthorityExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the CA's certificate, for another machine or store.",
        discussion: """
            The key is never exported.

              lupin ca export > lupin.pem             most tools on Unix
              lupin ca export der --out lupin.cer     Windows, Android, iOS
              lupin ca export p12 --out lupin.p12     Java; the password is changeit, or the
                                                      first line of --password-file
            """
    )

    enum Form: String, CaseIterable, ExpressibleByArgument {
        case pem, der, p12
    }

    /// Java's own default; the certificate is public, so the password protects no secret.
    private static let defaultPassword = "changeit"

    @Argument(help: "pem, der or p12.")
    var form = Form.pem

    @Option(help: ArgumentHelp("Write there and not to standard output.", valueName: "file"))
    var out: String?

    @Option(help: ArgumentHelp("The password of a p12, in its first line.", valueName: "file"))
    var passwordFile: String?

    @OptionGroup var options: AuthorityOptions

    func validate() throws {
        if passwordFile != nil, form != .p12 {
            throw ValidationError("only p12 has a password")
        }
    }

    func run() throws {
        let password = try password()
        let files = try options.files()
        let certificate = try files.forCommand().certificate
        let bytes: [UInt8]
        switch form {
        case .pem: bytes = AuthorityExport.pem(certificate)
        case .der: bytes = AuthorityExport.der(certificate)
        case .p12:
            do throws(CertificateFailure) {
                bytes = try AuthorityExport.pkcs12(certificate, name: "lupin", password: password)
            } catch {
                throw CommandFailure("\(error)")
            }
        }
        try write(bytes)
    }

    private func write(_ bytes: [UInt8]) throws {
        if let out {
            do throws(SystemError) { try PublicFile.write(bytes, to: out) } catch {
                throw CommandFailure("cannot write \(out): \(error.message)")
            }
            return
        }
        guard form == .pem || !Terminal.isStandardOutput else {
            throw ValidationError("\(form.rawValue) is no text for a terminal; use --out")
        }
        var output = try StandardOutput()
        if let error = output.error(writing: bytes) {
            throw CommandFailure("cannot write: \(error.message)")
        }
    }

    private func password() throws -> String {
        guard let passwordFile else { return Self.defaultPassword }
        do throws(ProtectedFileProblem) {
            let contents = try ProtectedFile.read(passwordFile, bytesMax: 4096)
            let line = [UInt8](copying: contents.bytes).prefix { $0 != 0x0A && $0 != 0x0D }
            return String(decoding: line, as: UTF8.self)
        } catch {
            throw ValidationError("cannot read \(passwordFile): \(error)")
        }
    }
}
