// The part of FoundationEssentials that swift-argument-parser uses, for docker/build-small.sh: the
// real module adds 5 MB to the program.
//
// The parser asks whether an error describes itself as those of Foundation do. It can also print
// its help as JSON, which nobody asks of lupin: a small program prints nothing then.

/// An error that Foundation describes; no type of lupin is one.
public protocol LocalizedError: Error {
    /// What happened, for people.
    var errorDescription: String? { get }
}

/// What was encoded; there is no such thing.
public enum Data: Sendable {}

extension String {
    /// How characters are written as bytes.
    public enum Encoding: Sendable {
        case utf8
    }

    /// Makes a text of what was encoded.
    public init?(data: Data, encoding: Encoding) { return nil }
}

/// An encoder that encodes nothing.
public final class JSONEncoder {
    /// How JSON would be laid out.
    public enum OutputFormatting {
        case prettyPrinted
        case sortedKeys

        /// Changes nothing.
        public mutating func insert(_ other: OutputFormatting) {}
    }

    private struct Absence: Error {}

    /// Changes nothing.
    public var outputFormatting = OutputFormatting.prettyPrinted

    /// Makes an encoder.
    public init() {}

    /// Throws always.
    public func encode(_ value: some Encodable) throws -> Data { throw Absence() }
}
