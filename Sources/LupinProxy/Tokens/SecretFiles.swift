// Reads the secret files that tokens name, and refuses those that others may read.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

enum SecretFiles {
    /// The maximum length: no credential is longer.
    private static let bytesMax = 64 << 10

    /// The bytes of a file that only its owner may read.
    ///
    /// A file that root mounted into a container may be open to others: there are no other users.
    static func content(of path: String) throws(TokenFailure) -> [UInt8] {
        do throws(ProtectedFileProblem) {
            let contents = try ProtectedFile.read(path, bytesMax: bytesMax)
            let isMounted = contents.owner == .root && isSecretMount(contents.device)
            if !contents.isOpenToOthers || isMounted { return [UInt8](copying: contents.bytes) }
        } catch {
            throw TokenFailure(.file(path: path, reason: error.description))
        }
        let reason = "group or others may read it; chmod 600 \(path)"
        throw TokenFailure(.file(path: path, reason: reason))
    }

    private static func isSecretMount(_ device: UInt64) -> Bool {
        let table = WholeFile.content(of: "/proc/self/mountinfo", bytesMax: 4 << 20) ?? []
        return MountTable.isSecretMount(device: device, in: String(decoding: table, as: UTF8.self))
    }
}
