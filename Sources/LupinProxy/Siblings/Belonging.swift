// What belongs to a lupin on disk: a confined command sees nothing of it.
import LupinCore
import LupinIO
package import LupinPolicy

/// A path that a lupin reads, or keeps something at.
package struct Belonging: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// A file that it has read, or a file or folder that it writes in place.
        case kept
        /// A file of certificates that it has read: no secret, unless a key lies with them.
        case certificates
        /// The same of a lupin that reads its rules again: it would take what comes to be there.
        case watched
        case watchedCertificates
        /// A file that it replaces by another of that name.
        case replaced
        /// A socket at which it answers its user.
        case socket
        /// A file or folder that it serves, and looks for again with each request: what takes its
        /// place would be served.
        case served

        /// Whether lupin takes what comes to be there later.
        package var isLasting: Bool {
            switch self {
            case .kept, .certificates: false
            case .watched, .watchedCertificates, .replaced, .socket, .served: true
            }
        }

        /// Whether the file is shown as long as it holds certificates alone.
        package var mayBeShown: Bool {
            switch self {
            case .certificates, .watchedCertificates: true
            case .kept, .watched, .replaced, .socket, .served: false
            }
        }
    }

    package let kind: Kind
    /// Absolute, and the same for every process; it may have links.
    package let path: String

    package init(_ kind: Kind, _ path: String) {
        self.kind = kind
        self.path = path.hasPrefix("/") ? Self.named(path) : "\(ProcessOwner.directory)/\(path)"
    }

    /// The path by names alone: a folder that is held by its descriptor is another one elsewhere.
    private static func named(_ path: String) -> String {
        guard path.hasPrefix(ownFiles) else { return path }
        let parts = path.dropFirst(ownFiles.count).split(separator: "/", maxSplits: 1)
        guard let number = parts.first, let folder = ProcessFiles.link(ownFiles + number) else {
            return path
        }
        return parts.count > 1 ? "\(folder)/\(parts[1])" : folder
    }

    private static let ownFiles = "/proc/self/fd/"

    /// The same of a lupin that reads its rules again.
    var watched: Belonging {
        switch kind {
        case .kept: Belonging(.watched, path)
        case .certificates: Belonging(.watchedCertificates, path)
        case .watched, .watchedCertificates, .replaced, .socket, .served: self
        }
    }

    /// The line that asks a sibling for its own.
    package static let query = "belongings"
    /// The answer to who may be a confined command.
    package static let refusal = "elsewhere"
    /// The end of a whole answer of a lupin that does not know its mount namespace.
    private static let end = "."

    /// The answer of a sibling; a path holds any byte but NUL.
    ///
    /// It ends with what the paths are names in: its mount namespace, as /proc calls it.
    package static func text(of all: [Belonging], in mounts: String? = ownMounts) -> String {
        (all.map { "\($0.kind.rawValue):\($0.path)" } + [mounts ?? end]).map { "\($0)\0" }
            .joined()
    }

    /// Parses an answer; nil when it is not a whole one, or has what a newer version says.
    ///
    /// Where a path is that of another mount namespace, nothing tells what the file is called here.
    /// A container mostly has a home or a project by the path that it has outside, so the same name
    /// is hidden here, also where the file is yet to be made in a folder that is here. A file that
    /// is mounted there by another path stays visible by the one that it has here.
    package static func all(in text: String, for mounts: String? = ownMounts) -> [Belonging]? {
        var items = text.split(separator: "\0")
        guard let last = items.popLast(),
            last == end || last.hasPrefix("mnt:[") && last.hasSuffix("]")
        else { return nil }
        let all = items.compactMap { Belonging(item: $0) }
        guard all.count == items.count else { return nil }
        guard let mounts, last != end, last != mounts else { return all }
        return all.filter(\.mayBeHere)
    }

    package static var ownMounts: String? { ProcessFiles.link("/proc/self/ns/mnt") }

    /// Whether the file, or the folder for it, is here.
    private var mayBeHere: Bool {
        PublicFile.exists(path) || PublicFile.exists(ProtectedFile.parts(of: path).folder)
    }

    private init?(item: Substring) {
        let parts = item.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])),
            parts[1].hasPrefix("/"), !parts[1].hasPrefix(Self.ownFiles)
        else { return nil }
        self.init(kind, String(parts[1]))
    }

    /// What a lupin of this user that runs has said, or why not.
    package enum Answer: Sendable {
        case belongings([Belonging])
        /// It runs another version, which does not know the question or says more.
        case unknown
        /// It takes this process for one that may be a confined command.
        case refused
        /// It says nothing: it begins, ends or hangs.
        case silent
    }

    /// A busy machine is no reason not to begin.
    private static let timeout = Duration.seconds(10)

    /// Asks the lupin at a sibling's socket, or at its name without a file; nil when none of this
    /// user runs there.
    package static func ask(at socket: String, isAbstract: Bool = false) -> Answer? {
        do throws(SystemError) {
            // One that ends meanwhile says nothing, and is not there the next time.
            var isEmpty = true
            for _ in 0..<2 {
                let answer = try LocalSocket.ask(
                    "\(query)\n",
                    at: socket,
                    isAbstract: isAbstract,
                    timeout: timeout
                )
                guard let answer else { return nil }
                isEmpty = answer.isEmpty
                let text = String(decoding: answer, as: UTF8.self)
                if text == "\(refusal)\n" { return .refused }
                if let all = all(in: text) { return .belongings(all) }
            }
            return isEmpty ? .silent : .unknown
        } catch {
            return .silent
        }
    }
}

extension Configuration {
    /// All that a lupin with this configuration reads and keeps.
    package func belongings(_ environment: [String: String]) -> [Belonging] {
        let home = ProcessOwner.home(environment)
        var all = paths.flatMap(\.belongings)
        if let fileName { all.append(Belonging(.kept, fileName)) }
        if let files = try? AuthorityFiles(settings.intercept.authority, environment: environment) {
            all += [Belonging(.kept, files.key), Belonging(.certificates, files.certificate)]
        }
        if case .file(let log) = settings.log.to {
            all.append(Belonging(settings.log.rotateBytes > 0 ? .replaced : .kept, log))
            let count = max(0, min(settings.log.rotateKeep, Self.rotatedMax))
            all += (0..<count).map { Belonging(.kept, "\(log).\($0 + 1)") }
        }
        for folder in [
            settings.cacheStore.folder(environment: environment, home: home),
            settings.capture.folder(environment: environment, home: home),
        ] {
            if let folder { all.append(Belonging(.kept, folder)) }
        }
        if let admin = settings.admin.endpoint(environment: environment, home: home)?.path {
            all.append(Belonging(.socket, admin))
        }
        return all
    }

    /// How many rotated logs are named; `keep` may be any number.
    private static let rotatedMax = 100
}

extension NamedPath {
    /// What belongs to a lupin for whose rules the path stands.
    fileprivate var belongings: [Belonging] {
        switch role {
        case .hosts, .key, .authorityKey, .users, .secret: [Belonging(.kept, path)]
        case .certificates, .certificate, .authority: [Belonging(.certificates, path)]
        case .cookies, .token: [Belonging(.replaced, path), Belonging(.kept, "\(path).lock")]
        case .answers: [Belonging(.served, path)]
        // Programs are for all. Of the others, those in force are named by the settings.
        case .program, .log, .folder, .socket: []
        }
    }
}
