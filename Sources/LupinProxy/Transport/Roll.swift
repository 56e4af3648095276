// Things that are noted one by one and seen to together, such as the streams with news.

/// What was noted since somebody last took all of it, in that order.
///
/// What it holds is moved out and back for every change, which spares run-time checks of
/// exclusivity.
final class Roll<Element> {
    private var elements: [Element] = []

    var isEmpty: Bool { elements.isEmpty }

    func append(_ element: consuming Element) {
        var elements: [Element] = []
        swap(&elements, &self.elements)
        elements.append(element)
        swap(&elements, &self.elements)
    }

    /// Hands over everything, one after the other: also what is noted meanwhile.
    @inline(__always)
    func takeEach(_ body: (consuming Element) -> Void) {
        while !isEmpty {
            var taken: [Element] = []
            swap(&taken, &self.elements)
            // From the end they are moved, and not copied.
            taken.reverse()
            while let element = taken.popLast() { body(element) }
            // Its room is used again, unless there is something new.
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
