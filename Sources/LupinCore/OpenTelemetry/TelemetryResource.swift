// Who reports: the attributes of this lupin, and those that the environment adds.

/// The resource of all that is exported (resource.proto).
package struct TelemetryResource: Sendable, Equatable {
    /// In order; each name once.
    package private(set) var attributes: [(name: String, value: String)] = []
    /// The version of lupin, which names the scope.
    package let version: String

    /// What `OTEL_RESOURCE_ATTRIBUTES` may hold; further attributes are left out.
    package static let attributesMax = 64

    /// - Parameters:
    ///   - environment: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` count.
    ///   - version: lupin's.
    ///   - instance: Tells apart the instances of one service.
    package init(environment: [String: String], version: String, instance: String) {
        self.version = version
        set("service.name", "lupin")
        set("service.version", version)
        set("service.instance.id", instance)
        for (name, value) in TelemetryList.pairs(environment["OTEL_RESOURCE_ATTRIBUTES"] ?? "")
        where attributes.count < Self.attributesMax {
            set(name, value)
        }
        // The more specific variable wins, as the specification demands.
        if let name = environment["OTEL_SERVICE_NAME"], !name.isEmpty {
            set("service.name", name)
        }
    }

    private mutating func set(_ name: String, _ value: String) {
        if let i = attributes.firstIndex(where: { $0.name == name }) {
            attributes[i].value = value
        } else {
            attributes.append((name, value))
        }
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.version == b.version && a.attributes.elementsEqual(b.attributes, by: ==)
    }
}

/// Lists of `name=value`, as the variables of OpenTelemetry write them.
package enum TelemetryList {
    /// The pairs of `a=1,b=2`, with values percent-decoded; what is no pair is left out.
    package static func pairs(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: ",").compactMap { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { return nil }
            let name = trimmed(halves[0])
            guard !name.isEmpty else { return nil }
            return (name, decoded(trimmed(halves[1])))
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: bytes[bytes.span.trimmedRange], as: UTF8.self)
    }

    /// Undoes `%20`; a `%` without two digits stays.
    private static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var i = 0
        while i < bytes.count {
            if bytes[i] == 0x25, let byte = NumberReader.hexadecimalByte(bytes.span, at: i + 1) {
                result.append(byte)
                i += 3
            } else {
                result.append(bytes[i])
                i += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
