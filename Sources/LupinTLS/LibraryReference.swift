// Shares a reference-counted OpenSSL object between threads by its address, which is Sendable.

/// The address of a reference-counted OpenSSL object that any thread may use.
///
/// The owner of one holds one reference, and releases it in deinit.
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
