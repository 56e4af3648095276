// Keeps what this process knows from other programs of the same user.
import CLinux
import Glibc

package enum ProcessSecrecy {
    /// Lets no other program of this user trace this process, nor read its memory, its variables
    /// and its open files; and writes no core file, whatever RLIMIT_CORE says.
    ///
    /// Programs that it starts are like any other, since execve(2) undoes it. Call it first, while
    /// the process has one thread.
    package static func begin() {
        _ = linux_refuse_dumps()
        moveEnvironment()
    }

    /// Moves the variables into the heap and clears where they were: root, and whoever opened
    /// `/proc/PID/environ` before, sees names only.
    private static func moveEnvironment() {
        guard let old = unsafe linux_environment() else { return }
        var count = 0
        // Safety: the list ends with nil.
        while unsafe old[count] != nil { count += 1 }
        let new = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
            .allocate(capacity: count + 1)
        // Safety: both lists have `count` elements and one more, which is nil.
        for i in 0...count { unsafe (new + i).initialize(to: old[i].flatMap { unsafe strdup($0) }) }
        unsafe linux_set_environment(new)
        for i in 0..<count {
            // Safety: each line ends with NUL, and nothing refers to it any more.
            guard let line = unsafe old[i], let value = unsafe strchr(line, 0x3D) else { continue }
            unsafe memset(value + 1, 0, strlen(value + 1))
        }
    }
}
