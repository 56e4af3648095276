// Which directory is the user's home: the one of HOME where it is his, else what the system knows.
import Foundation
import LupinIO
import Testing

struct ProcessOwnerTests {
    @Test func `HOME counts where it is a directory of the user`() throws {
        let own = FileManager.default.temporaryDirectory
            .appendingPathComponent("lupin-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: own,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: own) }
        #expect(ProcessOwner.home(["HOME": own]) == own)
    }

    @Test(arguments: [[:], ["HOME": "/nonexistent/x"], ["HOME": "relative"], ["HOME": ""]])
    func `otherwise the system is asked`(environment: [String: String]) {
        #expect(ProcessOwner.home(environment) == ProcessOwner.accountHome)
    }
}
