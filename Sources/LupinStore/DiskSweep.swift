// Which files among the bodies belong to no entry, found a few at a time.

/// One walk through the folders of bodies.
///
/// A process that is killed between a rename and its row, or between a row's end and its file's,
/// leaves a body that nobody will ask for.
struct DiskSweep: Sendable {
    private var shelf = 0
    private var names: [String] = []

    /// Everything was looked at.
    var isDone: Bool { shelf == DiskFolder.shelves && names.isEmpty }

    /// Looks at some files and removes those without an entry.
    ///
    /// - Parameters:
    ///   - folder: Where they lie.
    ///   - filesMax: How many files are looked at, at most; an empty folder counts as one.
    ///   - isKept: Whether there is an entry for a body.
    /// - Throws: What `isKept` throws; the walk goes on at the same file then.
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
            // The folder's number was counted on when its names were read.
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
