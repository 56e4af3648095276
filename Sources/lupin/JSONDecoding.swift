// Decodes values of the admin interface: names in snake_case there, in camelCase here.
import LupinCore

/// Why a value can't be decoded.
private struct JSONMismatch: Error {}

/// Decodes `Decodable` types from JSON in memory.
enum JSONDecoding {
    /// - Throws: When a member is missing or has another type.
    static func value<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from json: JSONValue
    ) throws -> Value {
        try Value(from: JSONNode(json: json))
    }

    /// `hitRatio` as `hit_ratio`.
    fileprivate static func memberName(_ key: any CodingKey) -> String {
        var name = ""
        for character in key.stringValue {
            if character.isUppercase { name.append("_") }
            name.append(character.lowercased())
        }
        return name
    }
}

/// One value, and the ways in which types read it.
private struct JSONNode: Decoder, SingleValueDecodingContainer {
    let json: JSONValue
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = json else { throw JSONMismatch() }
        return KeyedDecodingContainer(JSONMembers(members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let items = json.list else { throw JSONMismatch() }
        return JSONItems(items: items)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { json == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let value = scalar as? Value { return value }
        if let integer = type as? any FixedWidthInteger.Type { return try exact(integer) }
        return try Value(from: self)
    }

    private var scalar: Any {
        switch json {
        case .string(let text): text
        case .number(let number): number
        case .bool(let bool): bool
        case .object, .list, .null: ()
        }
    }

    private func exact<Number: FixedWidthInteger, Value>(_ type: Number.Type) throws -> Value {
        guard let number = json.number, let value = Number(exactly: number) as? Value else {
            throw JSONMismatch()
        }
        return value
    }
}

/// The members of an object; of two with the same name the last one counts.
private struct JSONMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [JSONValue.Member]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    private func member(_ key: Key) -> JSONValue? {
        let name = JSONDecoding.memberName(key)
        return members.last { $0.name == name || $0.name == key.stringValue }?.value
    }

    func contains(_ key: Key) -> Bool { member(key) != nil }

    func decodeNil(forKey key: Key) -> Bool { member(key) == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let json = member(key) else { throw JSONMismatch() }
        return try JSONNode(json: json).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        guard let json = member(key) else { throw JSONMismatch() }
        return try JSONNode(json: json).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        guard let json = member(key) else { throw JSONMismatch() }
        return try JSONNode(json: json).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { throw JSONMismatch() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw JSONMismatch() }
}

/// The items of a list, one after the other.
private struct JSONItems: UnkeyedDecodingContainer {
    let items: [JSONValue]
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    private mutating func next() throws -> JSONNode {
        guard !isAtEnd else { throw JSONMismatch() }
        currentIndex += 1
        return JSONNode(json: items[currentIndex - 1])
    }

    mutating func decodeNil() -> Bool {
        guard !isAtEnd, items[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next().decode(type)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { throw JSONMismatch() }
}
