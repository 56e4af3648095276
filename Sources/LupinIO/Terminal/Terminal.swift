// Properties of the user's terminal: whether there is one, its width, and the local time.
import CLinux
import Glibc

package enum Terminal {
    /// Whether standard input is a terminal.
    package static var isStandardInput: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether standard output is a terminal.
    package static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether standard error is a terminal.
    package static var isStandardError: Bool { isatty(STDERR_FILENO) == 1 }

    /// The width of the terminal on standard output in columns; nil when there is none.
    package static var columns: Int? { size.flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil } }

    /// Its height in lines; nil when there is none.
    package static var rows: Int? { size.flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } }

    private static var size: winsize? {
        var size = winsize()
        // Safety: TIOCGWINSZ fills the one struct.
        let result = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        return result == 0 ? size : nil
    }

    /// Whether the process still has a terminal: closing its window removes it.
    package static var isThere: Bool {
        // Safety: the path is a literal, which is NUL-terminated.
        let raw = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard raw >= 0 else { return false }
        close(raw)
        return true
    }

    /// Seconds that local time is ahead of UTC at the given time.
    package static func utcOffsetSeconds(at wallMicroseconds: Int64) -> Int64 {
        var seconds = time_t(wallMicroseconds / 1_000_000)
        var parts = unsafe tm()
        // Safety: localtime_r reads the one value and fills the one struct.
        unsafe localtime_r(&seconds, &parts)
        return unsafe Int64(parts.tm_gmtoff)
    }
}
