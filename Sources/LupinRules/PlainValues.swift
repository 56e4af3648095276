// Values that the settings table describes in full: read by their kind, and put where it says.

import LupinPolicy

extension DecodingContext {
    /// Takes the value of `setting` to its place; false where a problem was told in its place.
    @discardableResult
    func take<Root>(
        _ node: YAMLNode,
        _ setting: Setting,
        to keyPath: ValueKeyPath<Root>,
        in root: inout Root
    ) -> Bool {
        switch keyPath {
        case .duration(let path): return set(&root[keyPath: path], duration(node, setting))
        case .durationOrWord(let path): return set(&root[keyPath: path], duration(node, setting))
        case .number(let path):
            return set(&root[keyPath: path], amount(node, setting).map { $0 ?? 0 })
        case .numberOrWord(let path): return set(&root[keyPath: path], amount(node, setting))
        case .boolean(let path): return set(&root[keyPath: path], boolean(node))
        case .count(let path): return set(&root[keyPath: path], rateLimit(node, setting))
        case .choice(_, let write):
            guard let word = choice(node, setting) else { return false }
            write(&root, word)
            return true
        }
    }

    /// A number, a size or a rate; `.some(nil)` is the setting's word.
    private func amount(_ node: YAMLNode, _ setting: Setting) -> Int?? {
        switch setting.kind {
        case .number: number(node, setting)
        case .size: size(node, setting)
        case .rate: rate(node)
        default: nil
        }
    }
}
