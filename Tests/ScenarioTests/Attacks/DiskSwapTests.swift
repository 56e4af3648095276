// Two bodies of the store that change places while lupin runs: each answers its own URL alone.
import LupinTestKit
import Testing

struct DiskSwapTests {
    @Test func `one entry's file is no other's while lupin runs`() async throws {
        let folder = try Folder()
        let path = "\(folder.path)/store"
        try await DiskStory.live(under: DiskRaceTests.twinRules(folder)) { proxy in
            let twins = try DiskRaceTests.twins(proxy)
            let client = try proxy.client()
            for path in ["/a", "/b", "/a", "/b"] { try client.get(twins.url(path)) }
            try DiskRaceTests.swapBodies(path)
            for letter in ["a", "b"] {
                let response = try client.get(twins.url("/\(letter)"))
                #expect(response.bodyText.prefix(1) == letter, "\(response.caching)")
            }
        }
    }
}
