// Where a path leads, and by which links.
import CLinux
import Glibc
import LupinIO

/// A path that was followed to its end, whether or not anything is there.
package struct PathTrail: Sendable, Equatable {
    /// A link on the way.
    package struct Link: Sendable, Equatable {
        /// Its path, in which nothing else is a link.
        package let path: String
        /// Whether it is the last name of the path, rather than a folder on the way.
        package let isLast: Bool
    }

    /// The path without links.
    package private(set) var target = "/"
    package private(set) var links: [Link] = []

    /// The kernel's own bound.
    private static let linksMax = 40

    /// Follows a path; one that is relative begins in `folder`.
    package init(_ path: String, from folder: String) {
        var rest = Self.parts(path.hasPrefix("/") ? path : "\(folder)/\(path)")
        while let name = rest.popLast() {
            if name == ".." {
                target = CanonicalPath.parent(of: target)
                continue
            }
            let next = target == "/" ? "/\(name)" : "\(target)/\(name)"
            guard links.count < Self.linksMax, let link = ProcessFiles.link(next) else {
                target = next
                continue
            }
            links.append(Link(path: next, isLast: rest.isEmpty))
            if link.hasPrefix("/") { target = "/" }
            rest += Self.parts(link)
        }
    }

    /// The names of a path, the last one first.
    private static func parts(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }.reversed()
    }
}
