// `lupin env`: the variables that send the tools of a shell through lupin.
import ArgumentParser
import LupinCore
import LupinIO

struct EnvCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "env",
        abstract: "Print shell statements that send your tools through lupin.",
        discussion: """
            Sets http_proxy, https_proxy and no_proxy in both cases, since tools disagree about
            it. The address is that of the first listener in the rules file.

              eval "$(lupin env)"                  in sh, bash, zsh
              lupin env --shell fish | source
              eval "$(lupin env --unset)"          and back again

            all_proxy stays alone: tools would send ftp and other things through it that lupin
            does not speak. no_proxy holds only forms that every tool understands: no networks,
            wildcards or brackets.
            """
    )

    /// Tools disagree about the case, so each is written in both.
    private static let names = ["http_proxy", "https_proxy", "no_proxy"]
    /// Names and plain addresses mean the same to all tools.
    private static let withoutProxy = "localhost,127.0.0.1,::1"

    @Option(help: "sh, fish or powershell; without it what $SHELL says.")
    var shell: Shell?

    @Option(
        name: .customLong("rules"),
        help: ArgumentHelp("The rules file.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var rulesFile: String?

    @Flag(help: "Print statements that take the variables away again.")
    var unset = false

    func run() throws {
        let shell = shell ?? Shell(path: LocatedRules.environment["SHELL"])
        let names = Self.names + Self.names.map { $0.uppercased() }
        if unset {
            for name in names { print(shell.unset(name)) }
        } else {
            let url = try proxyURL()
            for name in names {
                let isException = name.lowercased() == "no_proxy"
                print(shell.export(name, isException ? Self.withoutProxy : url))
            }
        }
        if Terminal.isStandardOutput {
            let command = unset ? "lupin env --unset" : "lupin env"
            print("# to run these lines: \(shell.evaluation(of: command))")
        }
    }

    private func proxyURL() throws -> String {
        let rules = try LocatedRules(explicit: rulesFile)
        guard let listener = rules.configuration.settings.listeners.first, listener.port != 0
        else {
            throw ValidationError(
                "the first listener has port 0, which the kernel chooses when lupin starts"
            )
        }
        return listener.proxyURL
    }
}
