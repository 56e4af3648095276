// That a bug report says what the loaded OpenSSL can do.

import LupinTLS
import Testing

struct LibraryVersionTests {
    @Test func `the version says whether the post-quantum group is there`() throws {
        let words = LibraryVersion.text.split(separator: " ")
        let numbers = words[0].split(separator: ".").compactMap { Int($0) }
        #expect(numbers.count == 3)
        // Debian builds it in from 3.5 on.
        let isThere = !numbers.lexicographicallyPrecedes([3, 5])
        #expect(words.dropFirst() == [isThere ? "with" : "without", "X25519MLKEM768"])
    }
}
