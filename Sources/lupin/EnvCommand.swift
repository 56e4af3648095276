// `lupin env`: the variables that send the tools of a shell through lupin.
import ArgumentParser
import LupinIO
import LupinPolicy
import LupinRules

struct EnvCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "env",
        abstract: "Print shell statements that send your tools through lupin.",
        discussion: """
            Sets http_proxy, https_proxy and no_proxy, in lower and upper case, because tools \
            differ. The address is that of the running lupin, or of the first listener in the \
            rules file if none runs.

              eval "$(lupin env)"                  in sh, bash, zsh
              lupin env --shell fish | source
              eval "$(lupin env --unset)"          takes the variables away again

            With --ca it also sets the variables by which tools trust lupin's CA, and others \
            that older Node.js, Java and wget need: the same as `lupin exec`. The files that \
            they name are written to lupin/trust below $XDG_STATE_HOME (or ~/.local/state) each \
            time. They hold what your own variables named before, and lupin's certificate.

            It does not set all_proxy, because tools would send ftp and other protocols through \
            it. It adds localhost, 127.0.0.1 and ::1 to your no_proxy, except those that a rule \
            names. --unset gives back what the shell had before: \(ShellMemory.name) holds it.

            --format dotenv, json and docker print the variables for other readers than shells; \
            docker is the form of `docker run --env-file`, for containers that share this \
            machine's network.
            """
    )

    @Option(help: "The shell to print for; without it what $SHELL says.")
    var shell: Shell?

    @Option(help: "The form: that of a shell, or dotenv, json or docker.")
    var format: VariableFormat?

    @Option(rulesFile: "The rules file.")
    var rulesFile: String?

    @Flag(help: "Also make tools trust lupin's CA.")
    var ca = false

    @Flag(help: "Print statements that take the variables away again.")
    var unset = false

    func validate() throws {
        if shell != nil, format != nil {
            throw ValidationError("--shell and --format exclude each other")
        }
        if unset, let format, format.shell == nil {
            throw ValidationError("--unset is for a shell, not for \(format.rawValue)")
        }
    }

    func run() throws {
        if let format, format.shell == nil {
            let text = format.text(of: try variables())
            return StandardOutput.print(code: text, terminator: "")
        }
        let shell =
            shell ?? format?.shell ?? Shell(path: LocatedRules.environment["SHELL"])
        let lines = unset ? takingBack(in: shell) : setting(try variables(), in: shell)
        for line in lines { StandardOutput.print(line) }
        if Terminal.isStandardOutput {
            let command = "lupin env" + (ca ? " --ca" : "") + (unset ? " --unset" : "")
            StandardOutput.print("# to run these lines: \(shell.evaluation(of: command))")
        }
    }

    private func setting(
        _ variables: [(name: String, value: String)],
        in shell: Shell
    ) -> [String] {
        var memory = ShellMemory(LocatedRules.environment)
        memory.note(variables.map(\.name), of: LocatedRules.environment)
        return variables.map(shell.export) + [shell.export(ShellMemory.name, memory.text)]
    }

    /// A shell that an earlier version has set has no memory.
    private func takingBack(in shell: Shell) -> [String] {
        let memory = ShellMemory(LocatedRules.environment).values
        guard memory.isEmpty else {
            return memory.map { name, value in
                value.map { shell.export(name, $0) } ?? shell.unset(name)
            } + [shell.unset(ShellMemory.name)]
        }
        let names = ChildVariables.proxy + ChildVariables.exceptions
        return (names + (ca ? ChildVariables.trust : [])).map(shell.unset)
    }

    private func variables() throws -> [(name: String, value: String)] {
        let running = rulesFile == nil ? RunningLupin.findTrusted() : nil
        let rules =
            try running.map(LocatedRules.toWork)
            ?? LocatedRules(explicit: rulesFile, secrets: .named, tellsWarnings: false)
        // This shell's tools will trust the CA from now on.
        if ca, running != nil { RunningBypass.clear() }
        let settings = rules.configuration.settings
        let environment = LocatedRules.environment
        let variables = ChildEnvironment(
            environment: environment,
            proxy: try address(running, settings),
            without: .usual(rules.configuration.rules),
            files: ca ? try files(settings, environment) : nil
        )
        // Without --ca only the variables that every tool understands are printed.
        let plain = Set(ChildVariables.proxy + ChildVariables.exceptions)
        return ca ? variables.changes : variables.changes.filter { plain.contains($0.name) }
    }

    /// The address of the running lupin, or else the one in the rules file.
    private func address(_ running: RunningStatus?, _ settings: Settings) throws -> ProxyAddress {
        if let running, let address = try? ProxyAddress(url: running.proxy) { return address }
        guard let listener = settings.listeners.first, listener.port != 0 else {
            throw ExitCode.failure(
                "the first listener has port 0, which the kernel chooses when lupin starts"
            )
        }
        let address = ProxyAddress(listener)
        if let refusal = TrustedServer.refusal(of: address) {
            StandardError.print("lupin: warning: \(refusal)")
            throw ExitCode.failure
        }
        return address
    }

    private func files(
        _ settings: Settings,
        _ environment: [String: String]
    ) throws -> BundleFiles {
        guard let authority = try Authority.pem(settings, environment: environment) else {
            throw ExitCode.failure("lupin has no CA yet, so there is nothing to trust")
        }
        guard let state = UserFolder.state(environment) else {
            throw ExitCode.failure("neither XDG_STATE_HOME nor HOME says where to write files")
        }
        let folder = "\(state)/lupin/trust"
        do throws(SystemError) {
            try WholeFile.makeDirectories(folder)
            let files = try BundleFiles(
                in: folder,
                authority: authority,
                anchors: settings.anchors,
                environment: environment,
                wrapsBrowsers: false
            )
            for warning in files.warnings { StandardError.print("lupin: warning: \(warning)") }
            return files
        } catch {
            throw ExitCode.failure("cannot write to \(folder): \(error.message)")
        }
    }
}
