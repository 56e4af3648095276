// A certificate with its key, read from the files that the rules name.
package import LupinCore
import LupinIO
package import LupinTLS

package enum IdentityFiles {
    /// The maximum length of a file; longer ones are refused.
    private static let bytesMax = 1 << 20

    /// - Throws: `proxy_configuration_error`, which names the file.
    package static func load(_ files: CertificateFiles) throws(LupinError) -> TLSIdentity {
        let certificates = try contents(of: files.certificate)
        let key = try contents(of: files.key)
        do throws(TLSFailure) {
            return try TLSIdentity(certificates: certificates, key: key)
        } catch {
            throw .configuration("\(files.certificate) with \(files.key): \(error.reason).")
        }
    }

    private static func contents(of path: String) throws(LupinError) -> [UInt8] {
        do throws(ProtectedFileProblem) {
            let contents = try ProtectedFile.read(path, bytesMax: bytesMax)
            return [UInt8](copying: contents.bytes)
        } catch {
            throw .configuration("\(path): \(error.description).")
        }
    }
}
