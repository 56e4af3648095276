// Makes a tree of YAML's events: aliases stand for what their anchor names, and the second of two
// equal keys is left out and told.

/// A node of the tree, with the place where it is written.
indirect enum ComposedNode {
    case scalar(String, isPlain: Bool, FileLocation)
    case list([ComposedNode], FileLocation)
    case map([(key: ComposedNode, value: ComposedNode)], FileLocation)

    var location: FileLocation {
        switch self {
        case .scalar(_, _, let location), .list(_, let location), .map(_, let location): location
        }
    }
}

/// Composes the only document of a text.
struct YAMLComposer {
    /// A key that is written again in the same map.
    struct Duplicate: Equatable {
        var name: String
        var first: FileLocation
        var second: FileLocation
    }

    /// Deeper nesting is an error; the reader's own limit is far below.
    private static let depthMax = 256

    private let events: YAMLEvents
    private(set) var duplicates: [Duplicate] = []
    /// The latest node of each anchor, and how deep it is: a name may be used again.
    private var anchors: [String: (node: ComposedNode, height: Int)] = [:]
    /// How deep the node is that was composed last.
    private var height = 0

    init(_ text: String) throws(YAMLFailure) { events = try YAMLEvents(text) }

    /// Returns the document's node; nil for a text without one.
    mutating func compose() throws(YAMLFailure) -> ComposedNode? {
        guard try events.next().kind == .streamStart,
            try events.next().kind == .documentStart
        else { return nil }
        let root = try node(from: try events.next(), depth: 0)
        _ = try events.next()
        let behind = try events.next()
        guard behind.kind == .streamEnd else {
            throw .syntax(
                problem: "another document",
                location: behind.location,
                opening: nil
            )
        }
        return root
    }

    private mutating func node(
        from event: YAMLEvent,
        depth: Int
    ) throws(YAMLFailure) -> ComposedNode {
        guard depth < Self.depthMax else { throw .tooDeep(event.location) }
        let node: ComposedNode
        let anchor: String?
        switch event.kind {
        case .alias(let name):
            guard let (node, height) = anchors[name] else {
                throw .syntax(problem: "undefined alias", location: event.location, opening: nil)
            }
            // Aliases of aliases would make a tree that is deeper than any text.
            guard depth + height < Self.depthMax else { throw .tooDeep(event.location) }
            self.height = height
            return node
        case .scalar(let text, let isPlain, let name):
            node = .scalar(text, isPlain: isPlain, event.location)
            height = 0
            anchor = name
        case .listStart(let name):
            node = .list(try items(depth: depth + 1), event.location)
            anchor = name
        case .mapStart(let name):
            node = .map(try entries(depth: depth + 1), event.location)
            anchor = name
        case .streamStart, .streamEnd, .documentStart, .documentEnd, .listEnd, .mapEnd:
            throw .syntax(problem: "did not find a value", location: event.location, opening: nil)
        }
        // Behind its content: what an anchor names can't contain its own alias.
        if let anchor { anchors[anchor] = (node, height) }
        return node
    }

    private mutating func items(depth: Int) throws(YAMLFailure) -> [ComposedNode] {
        var items: [ComposedNode] = []
        var highest = 0
        while true {
            let event = try events.next()
            if event.kind == .listEnd { break }
            items.append(try node(from: event, depth: depth))
            highest = max(highest, height + 1)
        }
        height = highest
        return items
    }

    private mutating func entries(
        depth: Int
    ) throws(YAMLFailure) -> [(key: ComposedNode, value: ComposedNode)] {
        var entries: [(key: ComposedNode, value: ComposedNode)] = []
        var places: [String: FileLocation] = [:]
        var highest = 0
        while true {
            let event = try events.next()
            if event.kind == .mapEnd { break }
            let key = try node(from: event, depth: depth)
            highest = max(highest, height + 1)
            let value = try node(from: try events.next(), depth: depth)
            highest = max(highest, height + 1)
            if case .scalar(let name, _, _) = key {
                if let first = places[name] {
                    duplicates.append(Duplicate(name: name, first: first, second: event.location))
                    continue
                }
                places[name] = event.location
            }
            entries.append((key, value))
        }
        height = highest
        return entries
    }
}
