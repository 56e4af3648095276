// A network of its own for one test: hosts by their real names and ports, and nothing beyond.
import Foundation
import LupinTestKit
import Testing

/// Hosts that a test plays, as they look to programs on a machine that can reach nothing else.
///
/// It is made of namespaces that every user may enter, so it needs no root: a network whose
/// loopback interface has one more address, and an `/etc/hosts` that leads all names there. Web
/// servers answer at ports 80 and 443.
final class SmallInternet {
    /// A request that a server got, as it came there.
    struct Seen: Decodable {
        var host: String
        var method: String
        var path: String
        /// `Authorization`; what is inside Basic, too.
        var given: String
        /// The server's address.
        var at: String
    }

    static let python = "/usr/bin/python3"

    /// Whether this machine lets users make such a network, and confine commands in it.
    static let isPossible =
        [python, "/usr/bin/unshare", "/usr/bin/mount"].allSatisfy(has)
        && (try? Lupin.run(program: "/usr/bin/unshare", ["-Urnm", "true"]))?.code == 0
        && ConfinedFixture.isPossible

    static func has(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: program)
    }

    let folder: Folder
    var path: String { folder.path }
    private static let address = "10.9.0.1"

    /// Makes the folder with all that the network needs; nothing runs yet.
    ///
    /// - Parameters:
    ///   - hosts: Their names; each has a certificate of `authority.pem`.
    ///   - others: Names with another address than those.
    ///   - secrets: What requests to a host must have in `Authorization`.
    ///   - wheels: The host of the packages in the index for Python.
    ///   - files: The host to which `/archive` redirects.
    /// - Throws: When a file can't be written.
    init(
        _ hosts: [String],
        others: [String: String] = [:],
        secrets: [String: String] = [:],
        wheels: String = "",
        files: String = ""
    ) throws {
        folder = try Folder()
        let authority = try TestAuthority()
        try write("authority.pem", authority.pem)
        for host in hosts {
            let identity = try authority.identityFiles(of: host)
            try write("\(host).pem", identity.pem)
            try write("\(host).key", identity.key)
        }
        let names =
            ["127.0.0.1 localhost"] + hosts.map { "\(Self.address) \($0)" }
            + others.map { "\($0.value) \($0.key)" }
        _ = try folder.write("hosts", names.map { $0 + "\n" }.joined())
        let facts: [String: Any] = [
            "hosts": hosts, "secrets": secrets, "wheels": wheels, "files": files,
        ]
        try write("facts.json", Array(try JSONSerialization.data(withJSONObject: facts)))
        _ = try folder.write("server.py", Self.server)
        _ = try folder.write("setup.sh", Self.setup)
        for name in ["home", "bin"] {
            try FileManager.default.createDirectory(
                atPath: "\(path)/\(name)",
                withIntermediateDirectories: false
            )
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(path)/bin/lupin",
            withDestinationPath: Lupin.path
        )
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    /// Enters the network and runs the script in `$1`.
    ///
    /// Other lupins are not siblings of those in here: nobody here sees their connections.
    private static let setup = """
        set -e
        mount --bind hosts /etc/hosts
        home=$(getent passwd 0 | cut -d: -f6)
        # Who is root in here only can't enter it.
        mkdir -p "$home/.local/state/lupin" 2>/dev/null || mount -t tmpfs none "$home"
        for folder in "$home/.local/state/lupin" /run/user/0; do
          if [ -d "$folder" ]; then mount -t tmpfs none "$folder"; fi
        done
        rm -f ready end; mkfifo ready end
        \(python) server.py "$PWD" \(address) <end >ready 2>server.err &
        exec 9>end
        read word <ready || { cat server.err >&2; exit 99; }
        set +e
        sh -c "$1" 9>&-
        code=$?
        exec 9>&-
        wait
        exit $code
        """

    /// Runs a shell script in the folder; `lupin` is in PATH and trusts the servers.
    func run(_ script: String, environment: [String: String] = [:]) throws -> Lupin.Result {
        let words = ["-Urnm", "sh", "setup.sh", script]
        let process = Lupin.process("/usr/bin/unshare", words, in: path)
        process.environment = [
            "PATH": "\(path)/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "\(path)/home",
            "TMPDIR": path, "SSL_CERT_FILE": "\(path)/authority.pem", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0", "PIP_ROOT_USER_ACTION": "ignore",
        ].merging(environment) { $1 }
        let output = Pipe()
        // In a file, as it may be longer than a pipe.
        let errors = "\(path)/errors"
        _ = FileManager.default.createFile(atPath: errors, contents: nil)
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Lupin.Result(
            code: process.terminationStatus,
            output: String(decoding: bytes, as: UTF8.self),
            errors: try text("errors")
        )
    }

    func text(_ name: String) throws -> String {
        String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")),
            as: UTF8.self
        )
    }

    /// The requests so far, to all hosts.
    var seen: [Seen] {
        get throws {
            try text("seen").split(separator: "\n").map {
                try JSONDecoder().decode(Seen.self, from: Data($0.utf8))
            }
        }
    }

    /// Makes the repository `acme/tool.git` with a file README.
    func addRepository() throws {
        let script = """
            set -e
            git init -q -b main source; cd source; echo 'hello from the tool' > README; git add .
            git -c user.name=a -c user.email=a@example.com commit -qm one; cd ..
            mkdir -p git/acme; git clone -q --bare source git/acme/tool.git
            git -C git/acme/tool.git config http.receivepack true
            """
        let process = Lupin.process("/bin/sh", ["-c", script], in: path)
        process.environment?["HOME"] = "\(path)/home"
        process.environment?["GIT_CONFIG_NOSYSTEM"] = "1"
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
