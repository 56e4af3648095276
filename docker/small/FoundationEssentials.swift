// The part of FoundationEssentials that swift-argument-parser uses, for docker/build-small.sh: the
// real module adds 5 MB to the program.
//
// The parser asks whether an error describes itself as those of Foundation do, and encodes the help
// as JSON, of which `lupin man-pages` makes man pages.

/// An error that Foundation describes; no type of lupin is one.
public protocol LocalizedError: Error {
    /// What happened, for people.
    var errorDescription: String? { get }
}

/// What was encoded.
public struct Data: Sendable {
    fileprivate let text: String
}

extension String {
    /// How characters are written as bytes.
    public enum Encoding: Sendable {
        case utf8
    }

    /// Makes a text of what was encoded.
    public init?(data: Data, encoding: Encoding) { self = data.text }
}

/// Encodes values as JSON: indented, with the members of an object in the order of their names.
public final class JSONEncoder {
    /// How JSON is laid out; both hold in any case.
    public struct OutputFormatting: OptionSet, Sendable {
        /// With line breaks.
        public static let prettyPrinted = OutputFormatting(rawValue: 1)
        /// With members in the order of their names.
        public static let sortedKeys = OutputFormatting(rawValue: 2)

        /// One bit for each of the options.
        public let rawValue: UInt

        /// Makes a set of its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    /// Changes nothing.
    public var outputFormatting: OutputFormatting = []

    /// Makes an encoder.
    public init() {}

    /// The value as JSON.
    public func encode(_ value: some Encodable) throws -> Data {
        let place = Place()
        try place.fill(with: value)
        var text = ""
        place.write(to: &text, indent: "\n")
        return Data(text: text)
    }
}

/// A value of the JSON text, which is filled in later than it gets its place.
private final class Place {
    private enum Content {
        case literal(String)
        case string(String)
        case list([Place])
        case object([String: Place])
    }

    private var content = Content.literal("null")

    func fill(with value: some Encodable) throws {
        switch value {
        case let value as String: content = .string(value)
        case let value as Bool: content = .literal(value ? "true" : "false")
        case let value as any BinaryInteger: content = .literal("\(value)")
        case let value as any BinaryFloatingPoint: content = .literal("\(value)")
        default: try value.encode(to: PlaceEncoder(place: self))
        }
    }

    func becomeObject() {
        if case .object = content { return }
        content = .object([:])
    }

    func becomeList() {
        if case .list = content { return }
        content = .list([])
    }

    var count: Int { if case .list(let items) = content { items.count } else { 0 } }

    /// The place of a new item.
    func append() -> Place {
        let place = Place()
        if case .list(let items) = content { content = .list(items + [place]) }
        return place
    }

    /// The place of a new member.
    func add(_ key: any CodingKey) -> Place {
        let place = Place()
        if case .object(var members) = content {
            members[key.stringValue] = place
            content = .object(members)
        }
        return place
    }

    func write(to text: inout String, indent: String) {
        let inner = indent + "  "
        switch content {
        case .literal(let literal): text += literal
        case .string(let string): Self.write(string, to: &text)
        case .list(let items):
            text += "["
            for (i, item) in items.enumerated() {
                text += (i == 0 ? "" : ",") + inner
                item.write(to: &text, indent: inner)
            }
            text += indent + "]"
        case .object(let members):
            text += "{"
            for (i, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                text += (i == 0 ? "" : ",") + inner
                Self.write(member.key, to: &text)
                text += " : "
                member.value.write(to: &text, indent: inner)
            }
            text += indent + "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

private struct PlaceEncoder: Encoder, SingleValueEncodingContainer {
    let place: Place
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.becomeObject()
        return KeyedEncodingContainer(Members<Key>(place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.becomeList()
        return Items(place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() {}

    func encode<Value: Encodable>(_ value: Value) throws { try place.fill(with: value) }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: Place
    let codingPath: [any CodingKey] = []

    func encodeNil(forKey key: Key) { _ = place.add(key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try place.add(key).fill(with: value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        PlaceEncoder(place: place.add(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        PlaceEncoder(place: place.add(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PlaceEncoder(place: place) }

    func superEncoder(forKey key: Key) -> any Encoder { PlaceEncoder(place: place.add(key)) }
}

private struct Items: UnkeyedEncodingContainer {
    let place: Place
    let codingPath: [any CodingKey] = []

    var count: Int { place.count }

    func encodeNil() { _ = place.append() }

    func encode<Value: Encodable>(_ value: Value) throws { try place.append().fill(with: value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        PlaceEncoder(place: place.append()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        PlaceEncoder(place: place.append()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PlaceEncoder(place: place.append()) }
}
