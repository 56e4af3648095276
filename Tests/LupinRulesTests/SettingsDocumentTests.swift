// The files in `config/` say what the settings table says, and the sample file is a good one.

import Foundation
import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct SettingsDocumentTests {
    /// What the file holds; LUPIN_WRITE_DOCS=1 writes `text` into it before.
    private func file(_ name: String, writing text: String) throws -> String {
        let here = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        let path = (here + ["config", Substring(name)]).joined(separator: "/")
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        return String(decoding: try FileAccess.read(path).bytes, as: UTF8.self)
    }

    @Test func `config lupin yaml is what the table says`() throws {
        let text = SettingsDocument.yaml
        #expect(try file("lupin.yaml", writing: text) == text)
    }

    @Test func `config rules schema json is what the tables say`() throws {
        let text = SchemaDocument.json
        #expect(try file("rules.schema.json", writing: text) == text)
    }

    @Test func `the sample file is the defaults, without any remark`() throws {
        let result = decodeWhole(SettingsDocument.yaml)
        #expect(result.errors.report() == "")
        #expect(result.warnings.report() == "")
        #expect(try #require(result.configuration).settings == Settings())
    }

    @Test func `the rules in the sample file are good ones`() throws {
        let list = ["/etc/lupin/blocked.txt": FileContents(bytes: Array("ads.example\n".utf8))]
        let result = decode(SettingsDocument.exampleRules, files: list)
        #expect(result.errors.report() == "")
        #expect(result.warnings.report() == "")
        #expect(try #require(result.configuration).rules.rules.count == 5)
    }

    @Test func `every setting stands in the sample file with its sentence`() {
        for setting in SettingsTable.settings {
            #expect(
                SettingsDocument.yaml.contains("\(setting.key): \(setting.defaultText)"),
                "\(setting.name)"
            )
            #expect(SettingsDocument.yaml.contains("# \(setting.sentence)"), "\(setting.name)")
        }
    }

    @Test func `names in the table are unique, and sentences are not sentences twice`() {
        let names = SettingsTable.settings.map(\.name)
        #expect(Set(names).count == names.count)
        for setting in SettingsTable.settings {
            #expect(!setting.sentence.hasSuffix("."), "\(setting.name)")
        }
    }
}
