// A link that swallows what is sent, and that comes back.
import Glibc

extension PlainSocket {
    /// Has the kernel drop what arrives from now on, unread and unacknowledged.
    package func swallow() {
        // The one instruction of the filter, BPF_RET with a length of 0, and its program.
        var instruction: UInt64 = 0x06
        // Safety: the kernel copies both during the call.
        unsafe withUnsafePointer(to: &instruction) { address in
            var program = (UInt64(1), UInt(bitPattern: address))
            let size = socklen_t(MemoryLayout.size(ofValue: program))
            let result = unsafe setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_ATTACH_FILTER,
                &program,
                size
            )
            precondition(result == 0, "the filter is refused")
        }
    }

    /// Has it take what arrives again, what was sent meanwhile included.
    package func recover() {
        var unused: Int32 = 0
        // Safety: the option has no value.
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, 4)
    }
}
