// The rules that allow what a log used, and nothing else: hosts, ports and methods as narrow as
// they were used.
import LupinCore

/// An allow list, as rules in the order of a file.
package struct AllowList: Sendable, Equatable {
    /// What one rule allows by one of its matches.
    package struct Part: Sendable, Equatable {
        /// Ascending.
        package var ports: [UInt16]
        /// Sorted; empty for any, and what a tunnel carries.
        package var methods: [String]
    }

    /// What is allowed to a host in one way.
    ///
    /// Each way has a rule of its own. A rule with a match that limits methods never ends the
    /// matching of a CONNECT, even if another of its matches holds.
    package struct Rule: Sendable, Equatable {
        /// A host as in a URL, or `*.` and the name below which hosts lie.
        package var host: String
        package var way: SeenTargets.Way
        package var parts: [Part] = []
        package var use = SeenTargets.Use()
        /// How many hosts a pattern stands for; 1 for a host itself.
        package var hosts = 1

        package var name: String {
            switch way {
            case .tunnel: host
            case .decrypted: "\(host) decrypted"
            case .http: "\(host) by http"
            case .https: "\(host) by https"
            }
        }
    }

    /// From this many hosts below one name on, a pattern replaces them.
    package static let hostsOfPattern = 3

    package let rules: [Rule]

    package init(_ seen: SeenTargets) {
        var cells = Self.cells(of: Self.unambiguous(seen.uses))
        let barred = Set(seen.unused.keys.compactMap { HostParent.of($0.host) })
        Self.join(&cells, but: barred)
        rules = Self.rules(of: cells)
    }

    /// Uses of one host or pattern in one way.
    private struct Cell {
        var host: String
        /// The name above, if hosts below it may become a pattern.
        var parent: String?
        var port: UInt16
        var way: SeenTargets.Way
        var use: SeenTargets.Use
        var hosts = 1
    }

    /// A target that was also tunnelled stays a tunnel: a rule that decrypts would shut out clients
    /// that don't trust lupin's CA.
    private static func unambiguous(
        _ uses: [SeenTargets.Target: SeenTargets.Use]
    ) -> [SeenTargets.Target: SeenTargets.Use] {
        var kept: [SeenTargets.Target: SeenTargets.Use] = [:]
        for (target, use) in uses {
            var tunnel = target
            tunnel.way = .tunnel
            if target.way != .tunnel, uses[tunnel] != nil {
                kept[tunnel, default: SeenTargets.Use()].add(use, withMethods: false)
            } else {
                kept[target, default: SeenTargets.Use()].add(use, withMethods: true)
            }
        }
        return kept
    }

    private static func cells(of uses: [SeenTargets.Target: SeenTargets.Use]) -> [Cell] {
        uses.map { target, use in
            Cell(
                host: target.host.uriText,
                parent: HostParent.of(target.host),
                port: target.port,
                way: target.way,
                use: use
            )
        }
    }

    /// Replaces hosts below the same name by a pattern, where they were used in the same way.
    ///
    /// A pattern would also allow hosts that were refused or never got through, so a name with such
    /// a host below it gets none.
    private static func join(_ cells: inout [Cell], but barred: Set<String>) {
        struct GroupKey: Hashable {
            var parent: String
            var port: UInt16
            var way: SeenTargets.Way
        }
        var groups: [GroupKey: [Cell]] = [:]
        var rest: [Cell] = []
        for cell in cells {
            if let parent = cell.parent, !barred.contains(parent) {
                let key = GroupKey(parent: parent, port: cell.port, way: cell.way)
                groups[key, default: []].append(cell)
            } else {
                rest.append(cell)
            }
        }
        for (key, group) in groups {
            // A pattern of tunnels would come before one that limits methods, and lift the limit.
            var tunnels = key
            tunnels.way = .tunnel
            let isLifted =
                key.way != .tunnel && groups[tunnels, default: []].count >= hostsOfPattern
            guard group.count >= hostsOfPattern, !isLifted else {
                rest += group
                continue
            }
            var joined = Cell(
                host: "*.\(key.parent)",
                port: key.port,
                way: key.way,
                use: SeenTargets.Use(),
                hosts: group.count
            )
            for cell in group { joined.use.add(cell.use, withMethods: true) }
            rest.append(joined)
        }
        cells = rest
    }

    /// The rules in order: patterns last, so that none comes before the rule of a single host.
    private static func rules(of cells: [Cell]) -> [Rule] {
        struct Key: Hashable {
            var host: String
            var way: SeenTargets.Way
        }
        let groups = Dictionary(grouping: cells) { Key(host: $0.host, way: $0.way) }
        let rules = groups.map { key, cells in
            var rule = Rule(host: key.host, way: key.way, parts: parts(of: cells))
            for cell in cells {
                rule.use.add(cell.use, withMethods: true)
                rule.hosts = max(rule.hosts, cell.hosts)
            }
            return rule
        }
        return rules.sorted { a, b in
            let (x, y) = (a.host.hasPrefix("*"), b.host.hasPrefix("*"))
            if x != y { return y }
            return (a.host, a.way) < (b.host, b.way)
        }
    }

    /// The matches; ports with the same methods share one.
    private static func parts(of cells: [Cell]) -> [Part] {
        var parts: [Part] = []
        for cell in cells.sorted(by: { $0.port < $1.port }) {
            let methods = cell.way == .tunnel ? [] : cell.use.methods.sorted()
            if let same = parts.firstIndex(where: { $0.methods == methods }) {
                parts[same].ports.append(cell.port)
            } else {
                parts.append(Part(ports: [cell.port], methods: methods))
            }
        }
        return parts
    }
}

extension SeenTargets.Use {
    mutating func add(_ other: Self, withMethods: Bool) {
        count += other.count
        last = max(last, other.last)
        if withMethods { methods.formUnion(other.methods) }
        programs.merge(other.programs, uniquingKeysWith: +)
    }
}

/// The name above a host, where hosts below it surely belong together.
enum HostParent {
    /// Where names below belong to many customers, however many labels they have.
    private static let crowded = [
        "amazonaws.com", "azure.com", "azureedge.net", "azurewebsites.net", "cloudapp.net",
        "cloudfront.net", "digitaloceanspaces.com", "googleapis.com", "googleusercontent.com",
        "herokuapp.com", "ngrok.io", "vercel.app", "windows.net",
    ]

    /// Labels that a name must have; one more below a country's second level, such as `co.uk`.
    private static let labelsMin = 3

    /// The name; nil for an address, and where other people may own hosts below the name.
    ///
    /// lupin has no list of public suffixes, so it demands three labels: then no pattern covers a
    /// whole domain, or a shared one such as `github.io`.
    static func of(_ host: Host) -> String? {
        guard host.address == nil, let dot = host.text.firstIndex(of: ".") else { return nil }
        let name = host.text[host.text.index(after: dot)...]
        let labels = name.split(separator: ".")
        guard labels.count >= labelsMin, let top = labels.last else { return nil }
        let second = labels[labels.count - 2]
        if top.utf8.count == 2, second.utf8.count <= 3, labels.count == labelsMin { return nil }
        if crowded.contains(where: { name == $0 || name.hasSuffix(".\($0)") }) { return nil }
        return String(name)
    }
}
