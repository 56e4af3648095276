// Which programs a command names, and what they miss.
import LupinConfinement
import Testing

struct MissedSettingsTests {
    private func missed(_ command: String...) -> [String] {
        let programs = MissedSettings.programs(namedIn: command)
        return MissedSettings.all.filter { $0.isRead(byAnyOf: programs) }.map(\.name)
    }

    @Test func `a program misses what it reads, and no other's`() {
        #expect(missed("/usr/bin/ssh", "host") == [".ssh"])
        #expect(missed("npm", "ci") == [".npmrc"])
        #expect(missed("git", "push").contains(".ssh") && missed("git", "push").contains(".gnupg"))
        #expect(missed("./mvnw", "-q", "test") == [".m2/settings.xml"])
        #expect(missed("false").isEmpty && missed("grep", "ssh", "file").isEmpty)
        #expect(missed().isEmpty && missed("").isEmpty && missed("/").isEmpty)
    }

    @Test func `what runs others names them in its words`() {
        #expect(missed("sh", "-c", "cd x && /usr/bin/rsync -a . host:") == [".ssh"])
        #expect(missed("env", "A=b", "timeout", "5", "gh", "pr", "list") == [".config/gh"])
        #expect(missed("/usr/bin/python3.12", "-m", "twine", "upload") == [".pypirc"])
        #expect(missed("bash", "-c", "x=$(pip3 -V); exit 3").contains(".config/pip"))
        #expect(missed("sh", "-c", "exit 3").isEmpty)
    }

    @Test(arguments: [
        ("/h/.npm-global/bin/tool", "/h/.npm-global"), ("/h/.tool", "/h/.tool"),
        ("/h/.local/share/tool/bin/tool", "/h/.local/share/tool"),
        ("/h/.local/tool/x", "/h/.local/tool"), ("/h/.config/tool/bin/x", "/h/.config/tool"),
        ("/h/.config/tool", "/h/.config/tool"), ("/opt/tool/bin/tool", "/opt/tool/bin"),
        ("/own/.x/y", "/own/.x"),
    ])
    func `of a home no more is proposed than what is the program's`(program: String, gift: String) {
        #expect(HomeTable.gift(for: program, in: "/h") == gift)
    }
}
