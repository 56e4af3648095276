// Makes Chromium and its relatives trust lupin, although they read no variable for that.
import LupinCore
import LupinIO
import LupinTLS

/// Wrapper scripts in a folder at the front of PATH, which add two options.
///
/// Chromium trusts its own roots and those in a database in the user's home, which lupin must not
/// change for a single command. It accepts chains with a given public key when its command line
/// says so, and then only with a profile directory of its own.
enum BrowserWrappers {
    /// The program names of Chromium and its relatives on Linux.
    static let names = [
        "chromium", "chromium-browser", "chromium-headless-shell", "google-chrome",
        "google-chrome-stable", "google-chrome-beta", "chrome", "chrome-headless-shell",
        "microsoft-edge", "microsoft-edge-stable", "brave-browser",
    ]

    /// Writes a wrapper for each browser in PATH.
    ///
    /// - Returns: The folder of the wrappers; nil when there is no browser.
    /// - Throws: The error of a file operation.
    static func write(
        in folder: String,
        authority: [UInt8],
        environment: [String: String]
    ) throws(SystemError) -> String? {
        guard let digest = publicKeyDigest(of: authority) else { return nil }
        let programs = "\(folder)/bin"
        let search = ProgramSearch(path: environment["PATH"])
        var hasAny = false
        for name in names {
            guard let browser = search.find(name) else { continue }
            if !hasAny { try WholeFile.makeDirectories(programs) }
            hasAny = true
            let script = script(browser, key: digest, profile: "\(folder)/profile")
            try WholeFile.write(Array(script.utf8), to: "\(programs)/\(name)", isExecutable: true)
        }
        return hasAny ? programs : nil
    }

    /// The user's options follow lupin's and override them, so the user's own profile is kept.
    private static func script(_ browser: String, key: [UInt8], profile: String) -> String {
        let key = Base64Text.encode(key)
        return """
            #!/bin/sh
            # Written by lupin: has this browser accept certificates of lupin's authority.
            exec \(Shell.sh.quoted(browser)) --ignore-certificate-errors-spki-list=\(key) \\
                \(Shell.sh.quoted("--user-data-dir=\(profile)")) "$@"

            """
    }

    private static func publicKeyDigest(of authority: [UInt8]) -> [UInt8]? {
        (try? Certificate.parse(pem: authority.span))?.publicKeyDigest
    }
}

/// Searches PATH for programs, as a shell does.
struct ProgramSearch {
    private let folders: [String]

    /// - Parameter path: The value of PATH.
    init(path: String?) {
        folders = (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map(String.init)
    }

    /// Returns the first executable file with that name.
    func find(_ name: String) -> String? {
        folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }.first {
            FileStatus(path: $0)?.isRegular == true && FileStatus.isExecutable($0)
        }
    }
}
