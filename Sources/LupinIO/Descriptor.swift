// Ownership of a file descriptor: one value, which closes it exactly once.
import CLinux
import Glibc

/// An open file descriptor.
package struct Descriptor: ~Copyable {
    package let raw: Int32

    /// Takes ownership of `raw`.
    package init(owning raw: Int32) { self.raw = raw }

    /// Closes it now instead of at the end of its life.
    package consuming func close() {}

    /// Gives up the descriptor without closing it; the new owner closes it.
    package consuming func release() -> Int32 {
        let descriptor = raw
        discard self
        return descriptor
    }

    deinit { _ = Glibc.close(raw) }
}
