// Finds body files that belong to no entry, a few at a time.

/// One pass through the folders of bodies.
///
/// A process killed between the rename and the row of an entry, or between the removal of the row
/// and that of the file, leaves a body without an entry.
struct DiskSweep: Sendable {
    private var shelf = 0
    private var names: [String] = []

    /// Whether everything was checked.
    var isDone: Bool { shelf == DiskFolder.shelves && names.isEmpty }

    /// Checks some files and removes those without an entry.
    ///
    /// - Parameters:
    ///   - folder: The folder of the files.
    ///   - filesMax: The most files to check; an empty folder counts as one.
    ///   - isKept: Whether there is an entry for a body.
    /// - Throws: An error of `isKept`; the pass then continues at the same file.
    mutating func step(
        in folder: DiskFolder,
        filesMax: Int,
        isKept: (Int64) throws(DiskProblem) -> Bool
    ) throws(DiskProblem) {
        var left = filesMax
        while left > 0, !isDone {
            left -= 1
            guard let name = names.last else {
                names = folder.names(inShelf: shelf)
                shelf += 1
                continue
            }
            // `shelf` was incremented when the names of its folder were read.
            let own = shelf - 1
            if let id = folder.id(named: name, inShelf: own), try isKept(id) {
                names.removeLast()
                continue
            }
            folder.remove(named: name, inShelf: own)
            names.removeLast()
        }
    }
}
