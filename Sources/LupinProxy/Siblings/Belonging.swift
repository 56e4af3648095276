// What belongs to a lupin on disk: a confined command sees nothing of it.
package import LupinCore
import LupinIO

/// A path that a lupin reads, or keeps something at.
package struct Belonging: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// A file that it has read, or a file or folder that it writes in place.
        case kept
        /// The same of a lupin that reads its rules again: it would take what comes to be there.
        case watched
        /// A file that it replaces by another of that name.
        case replaced
        /// A socket at which it answers its user.
        case socket
        /// A file or folder that it serves, and looks for again with each request: what takes its
        /// place would be served.
        case served
    }

    package let kind: Kind
    /// Absolute; it may have links.
    package let path: String

    package init(_ kind: Kind, _ path: String) {
        self.kind = kind
        self.path = path.hasPrefix("/") ? path : "\(ProcessOwner.directory)/\(path)"
    }

    /// The line that asks a sibling for its own.
    static let question = "belongings"
    /// The end of a whole answer.
    private static let end = "."

    /// The answer of a sibling; a path holds any byte but NUL.
    static func text(of all: [Belonging]) -> String {
        (all.map { "\($0.kind.rawValue):\($0.path)" } + [end]).map { "\($0)\0" }.joined()
    }

    /// Parses an answer; nil when it is not a whole one, or has what a newer version says.
    static func all(in text: String) -> [Belonging]? {
        var items = text.split(separator: "\0")
        guard items.popLast() == Substring(end) else { return nil }
        let all = items.compactMap { Belonging(item: $0) }
        return all.count == items.count ? all : nil
    }

    private init?(item: Substring) {
        let parts = item.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])),
            parts[1].hasPrefix("/")
        else { return nil }
        self.init(kind, String(parts[1]))
    }

    /// What a lupin of this user that runs has said, or why not.
    package enum Answer: Sendable {
        case belongings([Belonging])
        /// It runs another version, which does not know the question or says more.
        case unknown
        case silent
    }

    /// A busy machine is no reason not to begin.
    private static let patience = Duration.seconds(10)

    /// Asks the lupin at a sibling's socket; nil when none runs there.
    package static func ask(at socket: String) -> Answer? {
        do throws(SystemError) {
            // One that ends meanwhile says nothing, and is not there the next time.
            for _ in 0..<2 {
                let answer = try LocalSocket.ask("\(question)\n", at: socket, patience: patience)
                guard let answer else { return nil }
                if let all = all(in: String(decoding: answer, as: UTF8.self)) {
                    return .belongings(all)
                }
            }
            return .unknown
        } catch {
            return .silent
        }
    }
}

extension Configuration {
    /// All that a lupin with this configuration reads and keeps.
    package func belongings(_ environment: [String: String]) -> [Belonging] {
        let home = ProcessOwner.home(environment)
        var all = filesRead.map { Belonging(.kept, $0) }
        if let fileName { all.append(Belonging(.kept, fileName)) }
        if let files = try? AuthorityFiles(settings.intercept.authority, environment: environment) {
            // Others may read the certificate, but not put another there.
            all += [files.key, files.certificate].map { Belonging(.kept, $0) }
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
        if let admin = settings.admin.place(environment: environment, home: home)?.path {
            all.append(Belonging(.socket, admin))
        }
        for token in settings.tokens {
            if case .oauth2(let source) = token.source, let store = source.store {
                all += [Belonging(.replaced, store), Belonging(.kept, "\(store).lock")]
            }
        }
        for rule in rules.rules {
            switch rule.respond?.content {
            case .file(let path), .folder(let path): all.append(Belonging(.served, path))
            case .text, .none?, nil: break
            }
            if case .some(.some(let jar)) = rule.cookieJar {
                all += [Belonging(.replaced, jar), Belonging(.kept, "\(jar).lock")]
            }
        }
        return all
    }

    /// How many rotated logs are named; `keep` may be any number.
    private static let rotatedMax = 100
}
