// The version of the loaded nghttp2 library, not of the one at build time.
import CNghttp2

package enum LibraryVersion {
    /// The version of nghttp2, such as `1.52.0`.
    package static var text: String {
        // Safety: nghttp2_version returns a static struct, or NULL for a library that is too old.
        guard let info = unsafe nghttp2_version(0) else { return "unknown" }
        let number = unsafe UInt32(truncatingIfNeeded: info.pointee.version_num)
        return "\(number >> 16).\(number >> 8 & 0xFF).\(number & 0xFF)"
    }
}
