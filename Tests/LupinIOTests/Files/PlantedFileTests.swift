// Files that another user may have made in a shared folder before lupin.
import Foundation
import Glibc
import LupinCore
import LupinIO
import Testing

struct PlantedFileTests {
    private let folder: String

    init() throws {
        folder = "/tmp/lupin-planted-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
    }

    private func write(_ path: String) throws {
        try Data().write(to: URL(fileURLWithPath: path))
    }

    enum Plant: CaseIterable {
        case open, groupOpen, hardLink, link, danglingLink, folder, foreign

        /// The end of what is told.
        func reason(_ path: String) -> String {
            switch self {
            case .open, .groupOpen: "others may write to it; chmod go-w \(path) ends that"
            case .hardLink: "another user's; name another file, or remove this one"
            case .link, .danglingLink: "it is a link: name its target"
            case .folder: "Is a directory"
            case .foreign: "is written to it; name another file, or remove this one"
            }
        }
    }

    @Test(arguments: Plant.allCases)
    func `nothing is appended to what others may have put there`(plant: Plant) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, other) = ("\(folder)/log", "\(folder)/other")
        try write(other)
        switch plant {
        case .open:
            try write(path)
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        case .groupOpen:
            // Only root can give a file to a group that it is no member of; `daemon` has another.
            guard geteuid() == 0 else { return }
            try write(path)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o660, .groupOwnerAccountID: 4712],
                ofItemAtPath: path
            )
        case .hardLink: try FileManager.default.linkItem(atPath: other, toPath: path)
        case .link:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
        case .danglingLink:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "new")
        case .folder:
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false
            )
        case .foreign:
            // Only root can make a file another user's.
            guard geteuid() == 0 else { return }
            try write(path)
            try FileManager.default.setAttributes([.ownerAccountID: 4711], ofItemAtPath: path)
        }
        let refusal = #expect(throws: SystemError.self) { _ = try AppendFile(.file(path)) }
        let reason = refusal.map { AppendFile.reason($0, of: path) }
        #expect(reason?.hasSuffix(plant.reason(path)) == true, "\(reason ?? "none")")
        #expect(FileManager.default.contents(atPath: other) == Data())
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/new"))
    }

    @Test func `a log of one's own, a new one, and a device are written`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for _ in 0..<2 { _ = try AppendFile(.file("\(folder)/log")) }
        _ = try AppendFile(.file("/dev/null"))
    }

    @Test func `a log that one's own group may write to is one's own`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The group 0 has no members but root, or says so in /etc/group.
        guard geteuid() == 0 else { return }
        let groups = try String(contentsOfFile: "/etc/group", encoding: .utf8)
        let users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
        guard PrivateGroup.isPrivate(0, of: 0, groups: groups, users: users) else { return }
        try write("\(folder)/log")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o664, .groupOwnerAccountID: 0],
            ofItemAtPath: "\(folder)/log"
        )
        _ = try AppendFile(.file("\(folder)/log"))
    }

    @Test func `a folder that is held stays the same whatever its name leads to`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["a", "b"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(name)",
                withIntermediateDirectories: false
            )
        }
        let held = try HeldFolder("\(folder)/a")
        try FileManager.default.moveItem(atPath: "\(folder)/a", toPath: "\(folder)/c")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/a",
            withDestinationPath: "b"
        )
        try WholeFile.write([1], to: "\(held.path)/tape")
        #expect(FileManager.default.fileExists(atPath: "\(folder)/c/tape"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/b/tape"))
    }
}
