// The part of FoundationEssentials that swift-argument-parser names, for docker/build-small.sh.
//
// The parser wants descriptions of errors of Foundation, of which lupin has none, and JSON for its
// own experimental option --experimental-dump-help. The real module adds 5 MB to the program.

/// An error that Foundation describes; no type of lupin is one.
public protocol LocalizedError: Error {
    /// What happened, for people.
    var errorDescription: String? { get }
}

/// Bytes, of which there are none here.
public struct Data: Sendable {}

/// Refuses to encode, and the parser prints an empty line.
public final class JSONEncoder {
    /// How JSON is laid out.
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

    /// Says that there is no encoder in this build.
    public struct Missing: Error {}

    /// Changes nothing.
    public var outputFormatting: OutputFormatting = []

    /// Makes an encoder.
    public init() {}

    /// Throws `Missing`.
    public func encode(_ value: some Encodable) throws -> Data { throw Missing() }
}

extension String {
    /// How characters are written as bytes.
    public enum Encoding: Sendable {
        case utf8
    }

    /// Returns nil.
    public init?(data: Data, encoding: Encoding) { return nil }
}
