// A folder that is opened once, so that no other one can take its place later.
import CLinux
import Glibc

/// An open folder: what is read and written by ``path`` lies in it, wherever the name by which it
/// was opened leads meanwhile.
package final class HeldFolder: Sendable {
    private let descriptor: Descriptor

    /// Opens the folder at a path, whose links are followed now and never again.
    /// - Throws: The error of open(2).
    package init(_ path: String) throws(SystemError) {
        descriptor = Descriptor(
            owning: try SystemCall.check {
                // Safety: the path is NUL-terminated for the call.
                unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
        )
    }

    /// A path that leads to it in this process, as long as the object lives.
    package var path: String { "/proc/self/fd/\(descriptor.raw)" }

    /// Where it lies now: it may have been moved.
    package var target: String? { ProcessFiles.link(path) }
}
