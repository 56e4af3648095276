// Sockets by which programs outside do what a confined command asks of them.
import LupinCore
import LupinIO

/// Unix sockets that would let a command out: a connection to one needs no network.
///
/// A session's bus starts programs, a terminal's server types into others, a container's service
/// mounts the disk, and a name service asks the network.
enum ConfinedDoors {
    /// Services of the machine, where distributions have them.
    private static let services = [
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/systemd/resolve/io.systemd.Resolve",
        "/run/systemd/resolve/io.systemd.Resolve.Monitor",
        "/run/systemd/userdb",
        "/run/nscd/socket", "/var/run/nscd/socket",
        "/run/avahi-daemon/socket",
        "/run/docker.sock", "/run/containerd", "/run/crio", "/run/podman", "/run/buildkit",
        "/run/libvirt", "/run/snapd.socket", "/run/snapd-snap.socket",
        "/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket",
        "/var/lib/incus/unix.socket",
        "/run/screen", "/tmp/.X11-unix", "/tmp/.ICE-unix",
    ]

    /// Variables that name a socket, or a folder of sockets.
    private static let variables = [
        "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
        "CONTAINER_HOST", "BUILDKIT_HOST", "TMUX", "GPG_AGENT_INFO", "WAYLAND_DISPLAY",
        "PULSE_SERVER", "I3SOCK", "SWAYSOCK", "KITTY_LISTEN_ON", "VSCODE_IPC_HOOK_CLI",
    ]

    /// What is there for this user, as the environment says, too.
    static func all(_ environment: [String: String]) -> [String] {
        let user = SystemUsers.own
        let own = ["/run/user/\(user)", "/tmp/tmux-\(user)", "/tmp/screens/S-\(user)"]
        let doors = services + own + variables.compactMap { environment[$0].flatMap(path) }
        // Where the command has its own files, too.
        let needed = [UserFolder.temporary(environment), environment["PWD"] ?? "/"]
        return doors.filter { door in !needed.contains { "\($0)/".hasPrefix("\(door)/") } }
    }

    /// The path in a variable: `/a`, `unix:///a`, `unix:path=/a,guid=x`, `/a,123,0`.
    static func path(in value: String) -> String? {
        guard let slash = value.firstIndex(of: "/") else { return nil }
        let prefix = value[..<slash]
        guard ["", "unix:", "unix:path="].contains(prefix) else { return nil }
        let rest = value[slash...].prefix { $0 != "," && $0 != ";" }
        let path = "/" + rest.drop { $0 == "/" }
        return path == "/" ? nil : path
    }
}
