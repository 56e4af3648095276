// Which files this process has open.
import Foundation

/// The files below a folder that this process has open, by their descriptors; the names of those
/// that are gone end with " (deleted)".
package func openFiles(below folder: String) -> [Int32: String] {
    let own = "/proc/self/fd"
    let manager = FileManager.default
    var found: [Int32: String] = [:]
    for name in (try? manager.contentsOfDirectory(atPath: own)) ?? [] {
        let target = try? manager.destinationOfSymbolicLink(atPath: "\(own)/\(name)")
        if let target, target.hasPrefix("\(folder)/"), let descriptor = Int32(name) {
            found[descriptor] = target
        }
    }
    return found
}
