// `lupin version`: the versions of lupin and of the libraries that matter to a bug report.
import ArgumentParser
import LupinTLS
import LupinWire

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the version of lupin and of the libraries beneath it.",
        discussion: """
            The versions of OpenSSL and nghttp2 are those of the libraries that are loaded now, \
            which may be newer than those lupin was built with. X25519MLKEM768 is the key \
            exchange that holds against quantum computers, which OpenSSL has from 3.5 on.

              lupin version
              lupin --version
            """
    )

    func run() { StandardOutput.print(VersionText.line) }
}

enum VersionText {
    /// What `lupin version` prints, such as `lupin 0.1.0 (Swift 6.3, OpenSSL 3.5.4 with
    /// X25519MLKEM768, nghttp2 1.64.0, linux x86_64)`.
    static var line: String {
        "lupin \(lupin) (Swift \(swift), OpenSSL \(LupinTLS.LibraryVersion.text), "
            + "nghttp2 \(LupinWire.LibraryVersion.text), linux \(architecture))"
    }

    static let lupin = "0.1.0"

    private static var swift: String {
        #if compiler(>=6.5)
            "6.5 or later"
        #elseif compiler(>=6.4)
            "6.4"
        #else
            "6.3"
        #endif
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "aarch64"
        #else
            "of another architecture"
        #endif
    }
}
