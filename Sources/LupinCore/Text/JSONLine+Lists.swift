// Appends lists of texts and of objects to a JSON line.

extension JSONLine {
    /// Appends `"key":["…",…]`.
    package mutating func add(_ key: String, list texts: some Sequence<String>) {
        openList(key)
        for text in texts { element(text.utf8Span.span) }
        closeList()
    }

    /// Appends `"key":[{…},…]`; `add` appends the members of one object.
    package mutating func add<Items: Sequence>(
        _ key: String,
        objects items: Items,
        _ add: (inout JSONLine, Items.Element) -> Void
    ) {
        openList(key)
        for item in items {
            openObject()
            add(&self, item)
            closeObject()
        }
        closeList()
    }
}
