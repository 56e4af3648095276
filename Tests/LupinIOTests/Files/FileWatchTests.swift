// That a change of a file is told once, in whatever way it was made.
import Foundation
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct FileWatchTests {
    /// The ways in which people and programs change a file called `rules` in a folder.
    enum Way: String, CaseIterable, Sendable {
        case inPlace, renamed, created, removed, linkSwapped, folderLinkSwapped, behindLink
        case folderMade

        /// What is there before.
        func prepare(_ folder: String) throws {
            switch self {
            case .inPlace, .renamed, .removed: try write("old", to: "\(folder)/rules")
            case .created, .folderMade: break
            case .linkSwapped:
                // As Kubernetes mounts its maps: one link in the middle moves all files at once.
                for name in ["one", "two"] {
                    try make("\(folder)/\(name)")
                    try write(name, to: "\(folder)/\(name)/rules")
                }
                try link("\(folder)/data", to: "one")
                try link("\(folder)/rules", to: "data/rules")
            case .folderLinkSwapped:
                for name in ["one", "two"] {
                    try make("\(folder)/\(name)")
                    try write(name, to: "\(folder)/\(name)/rules")
                }
                try link("\(folder)/current", to: "\(folder)/one")
            case .behindLink:
                try make("\(folder)/far")
                try write("old", to: "\(folder)/far/file")
                try link("\(folder)/rules", to: "far/file")
            }
        }

        func path(_ folder: String) -> String {
            switch self {
            case .folderLinkSwapped: "\(folder)/current/rules"
            case .folderMade: "\(folder)/new/deep/rules"
            default: "\(folder)/rules"
            }
        }

        func change(_ folder: String) throws {
            switch self {
            case .inPlace, .created: try write("new", to: "\(folder)/rules")
            case .renamed:
                try write("new", to: "\(folder)/.rules.swp")
                try rename("\(folder)/.rules.swp", "\(folder)/rules")
            case .removed: try FileManager.default.removeItem(atPath: "\(folder)/rules")
            case .linkSwapped:
                try link("\(folder)/data.new", to: "two")
                try rename("\(folder)/data.new", "\(folder)/data")
            case .folderLinkSwapped:
                try link("\(folder)/next", to: "\(folder)/two")
                try rename("\(folder)/next", "\(folder)/current")
            case .behindLink: try write("new", to: "\(folder)/far/file")
            case .folderMade:
                try make("\(folder)/new")
                try make("\(folder)/new/deep")
                try write("new", to: "\(folder)/new/deep/rules")
            }
        }

        func write(_ text: String, to path: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try waitUntilClosed(path)
        }

        /// Waits until nobody has a file open for writing.
        ///
        /// A child of another test has a copy of our descriptor until it runs its program, and the
        /// kernel tells of the last close: of one change before, that would be news later.
        private func waitUntilClosed(_ path: String) throws {
            // Safety: the path is NUL-terminated for the call.
            let descriptor = try SystemCall.check { unsafe open(path, O_RDONLY | O_CLOEXEC) }
            defer { close(descriptor) }
            // F_SETLEASE, which the module lacks: who writes stands in the way of a reader's lease.
            let lease: Int32 = 1024
            try eventually("the end of writing to \(path)") {
                fcntl(descriptor, lease, F_RDLCK) == 0
            }
            try SystemCall.check { fcntl(descriptor, lease, F_UNLCK) }
        }

        private func make(_ path: String) throws {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false
            )
        }

        private func link(_ path: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(
                atPath: path,
                withDestinationPath: target
            )
        }

        private func rename(_ from: String, _ to: String) throws {
            try FileRename.rename(from, to: to)
        }
    }

    /// A folder that goes away with the test.
    private func inFolder(
        _ body: @Sendable @escaping (isolated LoopFixture, String) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "lupin-watch-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await LoopFixture.run(clock: VirtualClock()) { try await body($0, folder) }
    }

    /// Lets time pass until so many changes were told.
    private func silence(
        _ fixture: isolated LoopFixture,
        until told: Counter,
        is count: Int
    ) async throws {
        for round in 0..<20_000 where told.count < count {
            if round > 0 { usleep(1000) }
            await fixture.settle()
            try fixture.clock?.advance(by: FileWatch.quiet)
            await fixture.settle()
        }
        #expect(told.count == count)
    }

    @Test(arguments: Way.allCases)
    func `a change is told once there is silence`(way: Way) async throws {
        try await inFolder { fixture, folder in
            try way.prepare(folder)
            let watch = try FileWatch(path: way.path(folder), on: fixture.loop)
            let told = Counter()
            let reader = fixture.start { while await watch.next() { told.count += 1 } }
            try way.change(folder)
            await fixture.settle()
            #expect(told.count == 0)
            try await silence(fixture, until: told, is: 1)
            try fixture.clock?.advance(by: .seconds(5))
            await fixture.settle()
            #expect(told.count == 1)
            watch.close()
            try await reader.value
        }
    }

    @Test func `a file that came back with other content is told again`() async throws {
        try await inFolder { fixture, folder in
            try Way.removed.prepare(folder)
            let watch = try FileWatch(path: Way.removed.path(folder), on: fixture.loop)
            let told = Counter()
            let reader = fixture.start { while await watch.next() { told.count += 1 } }
            for (way, count) in [(Way.removed, 1), (.created, 2), (.renamed, 3), (.inPlace, 4)] {
                try way.change(folder)
                try await silence(fixture, until: told, is: count)
            }
            watch.close()
            try await reader.value
        }
    }

    @Test func `a burst is one change, and one without end is told after a while`() async throws {
        try await inFolder { fixture, folder in
            let watch = try FileWatch(path: "\(folder)/rules", on: fixture.loop)
            let told = Counter()
            let reader = fixture.start { while await watch.next() { told.count += 1 } }
            var rounds = 0
            while told.count == 0, rounds < 200 {
                try Way.inPlace.write("\(rounds)", to: "\(folder)/rules")
                await fixture.settle()
                try fixture.clock?.advance(by: .milliseconds(20))
                await fixture.settle()
                rounds += 1
            }
            // A second's worth of steps, which are rounded up to ticks.
            #expect((20...60).contains(rounds), "\(rounds)")
            watch.close()
            try await reader.value
        }
    }

    @Test func `other files of the directory are nobody's news`() async throws {
        try await inFolder { fixture, folder in
            try Way.inPlace.prepare(folder)
            let watch = try FileWatch(path: Way.inPlace.path(folder), on: fixture.loop)
            let told = Counter()
            let reader = fixture.start { while await watch.next() { told.count += 1 } }
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/other"))
            await fixture.settle()
            try fixture.clock?.advance(by: .seconds(2))
            await fixture.settle()
            #expect(told.count == 0)
            watch.close()
            try await reader.value
        }
    }
}

/// A number that a task of the loop changes.
private final class Counter {
    var count = 0
}
