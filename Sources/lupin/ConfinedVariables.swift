// The variables that a confined command does not get: what shows secrets, and what names doors.
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy

/// Says which variables of an environment a command must not have.
struct ConfinedVariables {
    private let secrets: SecretVariables
    /// Folders of this user's sockets.
    private let runtime: [String]
    /// Paths that the command is given; sockets only by their own.
    private let shown: [String]

    init(
        _ environment: [String: String],
        secrets: [String],
        showing shown: [String] = []
    ) {
        self.secrets = SecretVariables(secrets, in: environment)
        self.shown = shown
        let own = environment["XDG_RUNTIME_DIR"] ?? ""
        runtime = ["/run/user/\(SystemUsers.own)"] + (own.hasPrefix("/") ? [own] : [])
    }

    /// The names of the variables that show a secret, and where `isConfined`, of those that name a
    /// unix socket: programs outside listen there.
    func leftOut(of environment: [String: String], isConfined: Bool) -> Set<String> {
        let names = environment.filter { name, value in
            secrets.show(in: name, value) || (isConfined && namesSocket(name, value))
        }
        return Set(names.keys)
    }

    /// Variables that mean a socket, or a program behind one, whatever their value looks like.
    private static let doors: Set<String> = [
        "ALACRITTY_SOCKET", "AT_SPI_BUS_ADDRESS", "BSPWM_SOCKET", "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_STARTER_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "EMACS_SERVER_FILE",
        "EMACS_SERVER_NAME", "EMACS_SOCKET_NAME", "GNOME_KEYRING_CONTROL", "GPG_AGENT_INFO",
        "HYPRLAND_INSTANCE_SIGNATURE", "I3SOCK", "KITTY_LISTEN_ON", "KITTY_PUBLIC_KEY",
        "NIRI_SOCKET", "NOTIFY_SOCKET", "NVIM", "NVIM_LISTEN_ADDRESS", "PIPEWIRE_REMOTE",
        "PULSE_SERVER", "SESSION_MANAGER", "SSH_AGENT_PID", "SSH_AUTH_SOCK", "STY", "SWAYSOCK",
        "TMUX", "TMUX_PANE", "VIM_SERVERNAME", "VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK",
        "VSCODE_IPC_HOOK_CLI", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "WEZTERM_PANE",
        "WEZTERM_UNIX_SOCKET", "ZELLIJ", "ZELLIJ_SESSION_NAME",
    ]

    private static let ends: Set<Character> = [",", ";", ":", " ", "=", "\"", "'", "\n", "\t"]
    /// Those of the parts of a URL, too, which names of files may have in them.
    private static let urlEnds = ends.union(["@", "?", "&", "#"])

    /// The paths in a variable, in any spelling: `/a`, `unix:///a`, `unix:guid=x,path=/a;unix:…`,
    /// `/a:1:1`, `http+unix://%2Fa/`, and `\/a` in JSON.
    private static func paths(in text: String) -> [String] {
        let value = text.replacing("\\/", with: "/")
        let plain = (value.hasPrefix("/") ? [value] : []) + pieces(of: value)
        // A part of a URL that is a path in itself, encoded once or more; `/a%2Fb` is one already.
        let parts = value.split { $0 == "/" || urlEnds.contains($0) }.map(String.init)
        let encoded = ([value] + parts).filter { $0.contains("%") && !$0.hasPrefix("/") }.flatMap(
            decodings
        )
        return (plain + encoded).filter { $0.hasPrefix("/") }.map { path in
            "/" + path.drop { $0 == "/" }
        }
    }

    /// What a text means with its percent-encoding undone, once and more often, with the pieces of
    /// each.
    private static func decodings(of text: String) -> [String] {
        var (decoded, all) = (text, [String]())
        for _ in 0..<3 {
            guard decoded.contains("%"), let bytes = Array(decoded.utf8).span.percentDecoded else {
                break
            }
            decoded = String(decoding: bytes, as: UTF8.self)
            all += [decoded] + pieces(of: decoded)
        }
        return all
    }

    private static func pieces(of text: String) -> [String] {
        (text.split { ends.contains($0) } + text.split { urlEnds.contains($0) }).map(String.init)
    }

    private func namesSocket(_ name: String, _ value: String) -> Bool {
        if value.isEmpty { return false }
        let paths = Self.paths(in: value)
        if paths.contains(where: shown.contains) { return false }
        if Self.doors.contains(name) { return true }
        let lower = value.lowercased()
        let isAddress = ["unix:", "unixexec:", "unix-abstract:"].contains { lower.hasPrefix($0) }
        if isAddress || lower.contains(";unix:") || lower.contains("unix://") { return true }
        return paths.contains { path in
            // One that is missing may come to be; a file or folder there is none.
            guard let target = PublicFile.target(of: path) else {
                return runtime.contains { path.hasPrefix("\($0)/") }
            }
            return ConnectWatch.FileIdentity(ofSocket: target) != nil
        }
    }
}
