// A server whose certificate may be withdrawn, and who is asked about it.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

/// A server below a root, with places to ask at, and who was asked.
struct RevocableServer {
    static let ocspURL = "http://ocsp.example/"
    static let listURL = "http://crl.example/1.crl"

    let root: MintedAuthority
    let leaf: MintedLeaf
    var sample: TrustSample

    init(ocsp: Bool = true, list: Bool = true) throws {
        root = try MintedAuthority.root(now: trustNow)
        leaf = try root.leaf("www.example.com") {
            $0.ocspURL = ocsp ? Self.ocspURL : nil
            $0.revocationListURL = list ? Self.listURL : nil
        }
        sample = TrustSample(leaf, root)
    }

    var response: MintedOCSPResponse {
        MintedOCSPResponse(leaf.certificate, issuer: root, now: trustNow)
    }

    var list: MintedRevocationList { MintedRevocationList(root, now: trustNow) }

    /// The finding, and the questions asked on the way, which are answered by kind.
    func finding(
        _ demand: RevocationDemand = RevocationDemand(),
        ocsp: [UInt8]? = nil,
        list: [UInt8]? = nil
    ) throws -> (RevocationFinding, asked: [RevocationQuery]) {
        var sample = sample
        var asked: [RevocationQuery] = []
        while true {
            let finding = try sample.trust().revocation(demand, along: [.configured])
            guard case .pending(let queries) = finding, asked.count < 8 else {
                return (finding, asked)
            }
            for query in queries {
                asked.append(query)
                let encoding = query.kind == .ocsp ? ocsp : list
                sample.evidence.answers[query] = RevocationAnswer(
                    encoding: encoding,
                    failure: "\(query.url) is away"
                )
            }
        }
    }

    /// What a response comes to, stapled or fetched alike.
    func finding(_ response: MintedOCSPResponse) throws -> RevocationFinding {
        var demand = RevocationDemand()
        demand.method = .ocsp
        let encoding = try response.encoding()
        let fetched = try finding(demand, ocsp: encoding)
        #expect(fetched.asked.map(\.kind) == [.ocsp])
        var stapling = self
        stapling.sample.stapledResponse = encoding
        demand.usesNetwork = false
        let stapled = try stapling.finding(demand)
        #expect(stapled.asked.isEmpty)
        #expect(stapled.0.outline == fetched.0.outline)
        return fetched.0
    }

    func finding(_ list: MintedRevocationList) throws -> RevocationFinding {
        var demand = RevocationDemand()
        demand.method = .crl
        let result = try finding(demand, list: try list.encoding())
        #expect(result.asked.map(\.url) == [Self.listURL])
        return result.0
    }
}

extension RevocationFinding {
    /// The case without its words.
    var outline: String {
        switch self {
        case .good: "good"
        case .revoked(let problem): "revoked \(problem.kind)"
        case .unknown: "unknown"
        case .pending: "pending"
        case .awaitsStaple: "awaits"
        case .noPath(let problem): "no path \(problem.kind)"
        }
    }
}
