// A list of items that are collected one by one and handled together, such as touched streams.

/// The items appended since the last `takeEach`, in their order.
///
/// Every change moves the array out and back, which avoids the run-time exclusivity check.
final class WorkList<Element> {
    private var elements: [Element] = []

    var isEmpty: Bool { elements.isEmpty }

    func append(_ element: consuming Element) {
        var elements: [Element] = []
        swap(&elements, &self.elements)
        elements.append(element)
        swap(&elements, &self.elements)
    }

    /// Takes every item, one after the other, including those that are appended meanwhile.
    @inline(__always)
    func takeEach(_ body: (consuming Element) -> Void) {
        while !isEmpty {
            var taken: [Element] = []
            swap(&taken, &self.elements)
            // Taken from the end, items are moved and not copied.
            taken.reverse()
            while let element = taken.popLast() { body(element) }
            // The capacity is reused, unless new items came.
            if isEmpty { swap(&taken, &self.elements) }
        }
    }

    func removeAll(where isUnwanted: (Element) -> Bool) {
        var elements: [Element] = []
        swap(&elements, &self.elements)
        elements.removeAll(where: isUnwanted)
        swap(&elements, &self.elements)
    }

    func removeAll() { elements = [] }
}
