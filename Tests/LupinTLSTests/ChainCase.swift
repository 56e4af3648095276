// Chains that differ from a good one in one way each.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

/// A chain by what is special about it, and the problem it should have.
struct ChainCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: TrustProblem.Kind?
    /// A part of the sentence that tells the problem.
    let phrase: String
    let make: @Sendable () throws -> TrustSample

    init(
        _ description: String,
        _ expected: TrustProblem.Kind? = nil,
        says phrase: String = "",
        _ make: @escaping @Sendable () throws -> TrustSample
    ) {
        testDescription = description
        self.expected = expected
        self.phrase = phrase
        self.make = make
    }

    /// A leaf below an intermediate below a root, each changed in one way.
    static func plain(
        _ description: String,
        _ expected: TrustProblem.Kind? = nil,
        says phrase: String = "",
        root adjustRoot: @escaping @Sendable (inout CertificateBuilder) -> Void = { _ in },
        intermediate adjust: @escaping @Sendable (inout CertificateBuilder) -> Void = { _ in },
        leaf adjustLeaf: @escaping @Sendable (inout CertificateBuilder) -> Void = { _ in }
    ) -> ChainCase {
        ChainCase(description, expected, says: phrase) {
            let root = try MintedAuthority.root(now: trustNow, adjust: adjustRoot)
            let intermediate = try root.intermediate(adjust: adjust)
            return TrustSample(try intermediate.leaf("www.example.com", adjust: adjustLeaf), root)
        }
    }
}

func names(_ permitted: String..., excluded: String...)
    -> CertificateBuilder.NameConstraints
{
    .init(permitted: permitted.map { .dns($0) }, excluded: excluded.map { .dns($0) })
}

extension CertificateBuilder {
    /// Adds an extension as it is encoded.
    mutating func add(_ identifier: String, isCritical: Bool = false, _ der: [UInt8]) {
        extensions.append(.init(identifier: identifier, isCritical: isCritical, der: der))
    }
}
