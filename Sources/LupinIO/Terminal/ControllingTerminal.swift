// The terminal of a session, as job control uses it: one process group is in front of it.
import CLinux
import Glibc

/// The terminal that this process's session controls.
///
/// The group in front of it reads keys, and gets the signals of Ctrl-C and Ctrl-Z (termios(3)).
package final class ControllingTerminal {
    private let descriptor: Descriptor

    /// nil for a session without a terminal.
    package init?() {
        // Safety: the path is a literal, which is NUL-terminated.
        let raw = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard raw >= 0 else { return nil }
        descriptor = Descriptor(owning: raw)
    }

    /// Whether this process's group is in front.
    package var isOurs: Bool { tcgetpgrp(descriptor.raw) == getpgrp() }

    /// Puts one of the terminal's process groups in front, from behind, too.
    package func bringToFront(_ group: Int32) {
        var (set, before) = (sigset_t(), sigset_t())
        // Safety: the calls fill and read the sets they are given.
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGTTOU)
        // Else the kernel would stop a process behind that tries.
        unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
        _ = tcsetpgrp(descriptor.raw, group)
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
