// The arguments of this process. Swift reads them from /proc, which a container may lack: then
// `lupin env` would be `lupin serve`.
import Synchronization

/// The words of the command line, from where the kernel put them.
package enum ProcessArguments {
    private typealias Words = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// The address of the words, which stay for the life of the process; 0 before they are known.
    private static let address = Atomic<UInt>(0)

    /// All words, the name of the program first.
    package static var all: [String] {
        // Safety: the array of the kernel ends with NULL, and each word with NUL.
        guard var word = unsafe Words(bitPattern: address.load(ordering: .relaxed)) else {
            return CommandLine.arguments
        }
        var words: [String] = []
        while let text = unsafe word.pointee {
            unsafe words.append(String(cString: text))
            unsafe word += 1
        }
        return words
    }

    /// glibc calls what this section lists before `main`, with what `main` gets.
    @section(".init_array") @used
    private static let keep: @convention(c) (Int32, Words?) -> Void = { _, words in
        address.store(UInt(bitPattern: words), ordering: .relaxed)
    }
}
