// How threads share one counted object of OpenSSL: by its address, which alone is Sendable.

/// The address of an OpenSSL object that counts its references and may be used by any thread.
///
/// Whoever stores one holds one of the references, and gives it back when it ends.
@safe
struct LibraryReference: Sendable {
    private let address: UInt

    init(_ pointer: OpaquePointer) { address = UInt(bitPattern: pointer) }

    /// The object, for calls of OpenSSL while the reference is held.
    var pointer: OpaquePointer {
        // Safety: the address came from a pointer that was not null, so it is one again.
        unsafe unsafeBitCast(address, to: OpaquePointer.self)
    }
}
