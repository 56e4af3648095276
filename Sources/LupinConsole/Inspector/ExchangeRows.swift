// The rows that the inspector holds: which are shown, which one is selected, whether it follows.

/// The exchanges of the list, the oldest first, and behind them those under way.
package struct ExchangeRows: Sendable {
    /// The oldest rows go when there are more.
    package static let countMax = 10_000

    /// Those that ended.
    package private(set) var ended: [ExchangeRow] = []
    /// Those under way that the filter keeps, the oldest first.
    package private(set) var live: [ExchangeRow] = []
    /// What came while the list is paused.
    package private(set) var waiting: [ExchangeRow] = []
    package private(set) var isPaused = false
    /// Whether the selection stays at the latest one that ended.
    package private(set) var follows = true
    /// Whether the server may have older rows.
    package var mayHaveOlder = true
    /// Of all rows that are shown.
    package private(set) var selectedIndex = 0
    /// The selected one, while it is neither under way any more nor among those that ended.
    private var missingID: String?
    /// The first row on the screen.
    private(set) var top = 0
    /// How many rows the screen has room for.
    private var height = 1

    package init() {}

    /// The number of rows, those under way included.
    package var count: Int { ended.count + shownLive.count }

    /// As many of those under way as leave room for others, the latest ones.
    private var shownLive: ArraySlice<ExchangeRow> { live.suffix(max(1, height / 3)) }

    package subscript(index: Int) -> ExchangeRow {
        index < ended.count
            ? ended[index] : shownLive[shownLive.startIndex + index - ended.count]
    }

    package var selected: ExchangeRow? {
        selectedIndex < count ? self[selectedIndex] : nil
    }

    // MARK: What comes

    /// Appends rows of exchanges that ended; while it is paused they wait.
    package mutating func append(_ rows: [ExchangeRow]) {
        let ids = Set(rows.map(\.id))
        keepingSelection { list in
            // Those under way were asked for a moment before.
            list.live.removeAll { ids.contains($0.id) }
            if list.isPaused {
                list.waiting += rows
                let excess = list.waiting.count - Self.countMax
                if excess > 0 { list.waiting.removeFirst(excess) }
            } else {
                list.ended += rows
                let excess = list.ended.count - Self.countMax
                if excess > 0 {
                    list.ended.removeFirst(excess)
                    list.top = max(0, list.top - excess)
                    list.mayHaveOlder = false
                }
            }
        }
    }

    /// Puts older rows in front, as far as there is room.
    package mutating func prepend(_ rows: [ExchangeRow]) {
        let room = Self.countMax - ended.count
        let rows = rows.suffix(max(0, room))
        guard !rows.isEmpty else {
            mayHaveOlder = false
            return
        }
        ended.insert(contentsOf: rows, at: 0)
        top += rows.count
        selectedIndex += rows.count
        settle()
    }

    package mutating func setLive(_ rows: [ExchangeRow]) {
        keepingSelection { $0.live = rows }
    }

    /// Drops all rows, for another filter.
    package mutating func clear() {
        let height = height
        self = ExchangeRows()
        self.height = height
    }

    // MARK: What the user does

    package mutating func move(by count: Int) {
        follows = false
        select(selectedIndex + count)
    }

    package mutating func moveToStart() {
        follows = false
        select(0)
    }

    /// Goes to the end and stays there.
    package mutating func follow() {
        resume()
        follows = true
        settle()
    }

    /// Whether a row with this ID is shown.
    func has(id: String) -> Bool { index(of: id) != nil }

    /// Selects the row with this ID; does nothing when there is none.
    package mutating func select(id: String) {
        guard let index = index(of: id) else { return }
        follows = false
        select(index)
    }

    package mutating func togglePause() {
        if isPaused { return resume() }
        isPaused = true
    }

    private mutating func resume() {
        isPaused = false
        let rows = waiting
        waiting = []
        append(rows)
    }

    // MARK: The part on the screen

    /// Takes the number of rows that the screen has room for.
    package mutating func fit(height: Int) {
        keepingSelection { $0.height = max(1, height) }
    }

    /// The rows on the screen.
    package var visible: Range<Int> { top..<min(count, top + height) }

    private mutating func keepingSelection(_ change: (inout ExchangeRows) -> Void) {
        let id = missingID ?? selected?.id
        missingID = nil
        change(&self)
        // Another row may have moved to its place.
        if !follows, let id, selected?.id != id {
            if let index = index(of: id) { selectedIndex = index } else { missingID = id }
        }
        settle()
    }

    private func index(of id: String) -> Int? {
        (0..<count).reversed().first { self[$0].id == id }
    }

    private mutating func select(_ index: Int) {
        missingID = nil
        selectedIndex = index
        settle()
    }

    /// Keeps the selection within the rows, and on the screen.
    private mutating func settle() {
        if follows { selectedIndex = ended.isEmpty ? count - 1 : ended.count - 1 }
        selectedIndex = max(0, min(selectedIndex, count - 1))
        let last = max(0, count - height)
        if follows {
            top = last
        } else {
            top = min(top, selectedIndex)
            top = max(top, selectedIndex - height + 1)
        }
        top = max(0, min(top, last))
    }
}
