// How the secret files that tokens name are read, and which are refused.
import LupinCore
import LupinIO
import LupinRules

enum SecretFiles {
    /// No credential is longer, and nothing else belongs into such a file.
    private static let bytesMax = 64 << 10

    /// The bytes of a file that its owner alone may read.
    ///
    /// What root mounted into a container may be open to others: nobody else is in there.
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
