// Whether `lupin exec --confine` works on this machine, and what keeps it from that.
import LupinConfinement
import LupinCore
import LupinIO

/// A test of `lupin exec --confine`.
enum DoctorConfinement {
    /// The exit code of a command whose connections past the proxy fail.
    private static let failsPastProxy: Int32 = 3

    /// A command that is confined; its rules and records lie in `folder`.
    static func launch(in folder: String, environment: [String]) throws -> ChildLaunch {
        let rules = "\(folder)/none.yaml"
        try WholeFile.write(Array("lupin: 1\n".utf8), to: rules)
        let words = ["exec", "--confine", "--rules", rules, "--log", "\(folder)/confined", "--"]
        // Its own sockets say whether one is there for other connections.
        let port = String(Confinement.redirectedPort, radix: 16, uppercase: true)
        let table = "$(cat /proc/net/tcp)"
        let script = "case \(table) in *:\(port)\\ *);; *) exit \(failsPastProxy);; esac"
        return ChildLaunch(
            "/proc/self/exe",
            words + ["sh", "-c", script],
            environment: environment
        )
    }

    /// What a failure means.
    static func outcome(_ code: Int32, reason: String) -> DoctorOutcome {
        if code == 0 { return DoctorOutcome(kind: .ok, reason: missed) }
        if code == failsPastProxy {
            let reason =
                "programs that ignore the proxy variables reach nothing: the kernel has no "
                + "nf_tables for users"
            return DoctorOutcome(
                kind: .ok,
                reason: reason,
                fix: "load its modules: modprobe nft_redir"
            )
        }
        let isOfKernel = reason.contains(ConfinementProblem.ending)
        return DoctorOutcome(kind: .failed, reason: reason, fix: isOfKernel ? fix : nil)
    }

    /// Settings and credentials of tools that a confined command does not see; nil for none.
    private static var missed: String? { missed(where: { _ in true }) }

    /// Those of them that are absent by a view and that one of `programs` reads; nil means any.
    static func missed(
        by programs: Set<String>? = nil,
        where isAbsent: (String) -> Bool
    ) -> String? {
        guard let home = ProcessOwner.home(ProcessOwner.environment) else { return nil }
        let there = MissedSettings.all.filter { settings in
            let path = "\(home)/\(settings.name)"
            return programs.map(settings.isRead(byAnyOf:)) ?? true && PublicFile.exists(path)
                && isAbsent(path)
        }
        if there.isEmpty { return nil }
        let names = there.map { "~/\($0.name) (\($0.tool))" }.joined(separator: ", ")
        return "absent inside: \(names); --show PATH gives it"
    }

    /// The setting of the kernel that stands in the way.
    private static var fix: String {
        for (setting, forbids, remedy) in settings where value(of: setting) == forbids {
            return remedy
        }
        return "in a container, let it make namespaces and mount /proc: Docker needs "
            + "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
    }

    private static let settings = [
        (
            "user/max_user_namespaces", "0",
            "allow user namespaces: sysctl user.max_user_namespaces=10000"
        ),
        (
            "kernel/unprivileged_userns_clone", "0",
            "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
        ),
        (
            "kernel/apparmor_restrict_unprivileged_userns", "1",
            "AppArmor forbids it: copy config/apparmor/lupin of lupin's sources, or "
                + "/usr/share/doc/lupin/examples/apparmor, to /etc/apparmor.d/lupin and load it by "
                + "apparmor_parser -r"
        ),
    ]

    private static func value(of setting: String) -> String? {
        WholeFile.content(of: "/proc/sys/\(setting)", bytesMax: 64).map { bytes in
            String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
        }
    }
}
