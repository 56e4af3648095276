// Rules files with credentials that another user could change, by any of the names on their way.
import Foundation
import Testing

@Suite(.waitsForPrograms)
struct OpenRulesFileTests {
    private static let attaching =
        "lupin: 1\ntokens: {t: {bearer: literal-token}}\n"
        + "rules: [{match: a.test, request: [{auth: t}]}]\n"

    private func set(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func makeFolder(_ path: String, _ mode: Int = 0o755) throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
        try set(mode, path)
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    enum Way: CaseIterable {
        case fileForAll, fileForGroup, folderForAll, folderAboveForAll, linkInOpenFolder
        case linkedFolderInOpenFolder, linkOfLinkInOpenFolder, dotsThroughOpenFolder
    }

    /// Lays out the file, and returns the path by which it is reached.
    private func lay(_ way: Way, in folder: String) throws -> String {
        try makeFolder("\(folder)/a")
        try makeFolder("\(folder)/a/b")
        try makeFolder("\(folder)/open", 0o777)
        let file = "\(folder)/a/b/lupin.yaml"
        try Data(Self.attaching.utf8).write(to: URL(fileURLWithPath: file))
        try set(0o600, file)
        switch way {
        case .fileForAll: try set(0o666, file)
        case .fileForGroup:
            try set(0o660, file)
            // A group that may have members.
            guard geteuid() == 0 else { return "" }
            try FileManager.default.setAttributes(
                [.groupOwnerAccountID: 4711],
                ofItemAtPath: file
            )
            try set(0o660, file)
        case .folderForAll: try set(0o777, "\(folder)/a/b")
        case .folderAboveForAll: try set(0o777, "\(folder)/a")
        case .linkInOpenFolder:
            try link("\(folder)/open/lupin.yaml", to: file)
            return "\(folder)/open/lupin.yaml"
        case .linkedFolderInOpenFolder:
            try link("\(folder)/open/b", to: "../a/b")
            return "\(folder)/open/b/lupin.yaml"
        case .linkOfLinkInOpenFolder:
            try link("\(folder)/open/lupin.yaml", to: file)
            try link("\(folder)/lupin.yaml", to: "open/lupin.yaml")
            return "\(folder)/lupin.yaml"
        case .dotsThroughOpenFolder:
            try makeFolder("\(folder)/open/in")
            return "\(folder)/open/in/../../a/b/lupin.yaml"
        }
        return file
    }

    @Test(arguments: Way.allCases)
    func `check says who could change it, and serve does not start`(way: Way) throws {
        let folder = try Folder()
        let path = try lay(way, in: folder.path)
        if path.isEmpty { return }
        for words in [
            ["check", path], ["check", "--trusted", path], ["check", "--untrusted", path],
            ["serve", "--rules", path],
        ] {
            let result = try Lupin.run(words)
            #expect(result.code == 2, "\(words)")
            #expect(result.errors.contains("others can write to"), "\(result.errors)")
            #expect(result.errors.contains("chmod go-w"))
        }
    }

    @Test func `a file of one's own in a shared folder that is sticky is taken`() throws {
        let folder = try Folder()
        let path = "\(folder.path)/shared/lupin.yaml"
        try makeFolder("\(folder.path)/shared", 0o1777)
        try Data(Self.attaching.utf8).write(to: URL(fileURLWithPath: path))
        try set(0o644, path)
        #expect(try Lupin.run("check", path).code == 0)
    }

    @Test(arguments: ["folder: open/mock", "file: open/mock/a.json", "folder: link"])
    func `nobody else chooses what lupin serves`(respond: String) throws {
        let folder = try Folder()
        try makeFolder("\(folder.path)/open", 0o777)
        try makeFolder("\(folder.path)/open/mock", 0o755)
        try link("\(folder.path)/link", to: "open/mock")
        try Data("[]".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/open/mock/a.json"))
        let text = "lupin: 1\nrules: [{match: a.test, respond: {\(respond)}}]\n"
        let path = try folder.write("lupin.yaml", text)
        let result = try Lupin.run("check", "--trusted", path)
        #expect(result.code == 2)
        #expect(result.errors.contains("others can write to the directory"), "\(result.errors)")
        try set(0o755, "\(folder.path)/open")
        #expect(try Lupin.run("check", "--trusted", path).code == 0)
        // What is served itself decides as well.
        let isFile = respond.hasPrefix("file")
        try set(isFile ? 0o646 : 0o777, "\(folder.path)/open/mock" + (isFile ? "/a.json" : ""))
        let open = try Lupin.run("check", "--trusted", path)
        #expect(open.code == 2)
        #expect(open.errors.contains("others can write to"), "\(open.errors)")
    }

    @Test(
        arguments: [
            "rules: [{match: {host: {file: open/in/file}}, request: [{auth: t}]}]\n"
                + "tokens: {t: {bearer: literal-token}}",
            "rules: [{match: {host: {file: link}}, request: [{auth: t}]}]\n"
                + "tokens: {t: {bearer: literal-token}}",
            "tokens: {t: {command: [sh, open/in/file]}}",
            "tokens: {t: {command: open/in/file}}",
        ]
    )
    func `what the rules name decides, too, so others can't change it`(section: String) throws {
        let folder = try Folder()
        try makeFolder("\(folder.path)/open", 0o777)
        try makeFolder("\(folder.path)/open/in", 0o755)
        try link("\(folder.path)/link", to: "open/in/file")
        try Data("a.test\n".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/open/in/file"))
        let absolute = section.replacing("sh, open", with: "sh, \(folder.path)/open")
        let path = try folder.write("lupin.yaml", "lupin: 1\n\(absolute)\n")
        for words in [["check", "--trusted", path], ["serve", "--rules", path]] {
            let result = try Lupin.run(words)
            #expect(result.code == 2, "\(words)")
            #expect(result.errors.contains("others can write to the directory"))
            #expect(result.errors.contains("chmod go-w \(folder.path)/open"), "\(result.errors)")
        }
        try set(0o755, "\(folder.path)/open")
        #expect(try Lupin.run("check", "--trusted", path).code == 0)
    }
}
