// Who reports: the attributes of this lupin, and those that the environment adds.

import LupinCore
import LupinPolicy

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
