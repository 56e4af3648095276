// Name constraints of CAs on hosts, as far as OpenSSL does not check or explain them.
import COpenSSL
package import LupinCore

/// The name constraints of one CA that concern hosts (RFC 5280 §4.2.1.10).
///
/// OpenSSL compares them to the names in certificates. It does not treat `*.example.com` as a name
/// below `b.example.com`, though the wildcard covers that name: RFC 5280 does not mention
/// wildcards, and RFC 9525 does not mention constraints. So this type also checks the requested
/// host, and for a wildcard all names that it covers.
package struct NameConstraints: Sendable {
    /// The ruling on a host.
    package enum Ruling: Sendable, Hashable {
        case allowed
        /// There are permitted names of this kind, and the host is none of them.
        case notPermitted
        case excluded
    }

    /// More than any CA in use has, and few enough to compare with many names.
    private static let subtreesMax = 1024

    private struct Subtrees {
        var domains: [Domain] = []
        var networks: [CIDR] = []
    }

    private var permitted = Subtrees()
    private var excluded = Subtrees()

    /// Parses the value of the extension; nil if RFC 5280 does not allow it.
    ///
    /// A leading dot, which it allows for other kinds of names only, is in use; here, as in
    /// OpenSSL, it means only names below the domain.
    package init?(_ encoding: [UInt8]) {
        var outer = DERReader(encoding)
        guard let fields = outer.next(tag: 0x30), outer.isAtEnd, !fields.isEmpty else { return nil }
        var reader = DERReader(fields)
        var count = 0
        if let list = reader.next(tag: 0xA0) {
            guard let subtrees = Self.subtrees(list, &count) else { return nil }
            permitted = subtrees
        }
        if let list = reader.next(tag: 0xA1) {
            guard let subtrees = Self.subtrees(list, &count) else { return nil }
            excluded = subtrees
        }
        guard reader.isAtEnd else { return nil }
    }

    /// Whether the CA may issue for the host; an exclusion overrides a permission.
    package func ruling(on host: Host) -> Ruling {
        host.address.map { ruling(on: $0) } ?? ruling(onName: Array(host.text.utf8))
    }

    private func ruling(on address: IPAddress) -> Ruling {
        if excluded.networks.contains(where: { $0.contains(address) }) { return .excluded }
        let isPermitted =
            permitted.networks.isEmpty || permitted.networks.contains { $0.contains(address) }
        return isPermitted ? .allowed : .notPermitted
    }

    private func ruling(onName name: [UInt8]) -> Ruling {
        if excluded.domains.contains(where: { $0.includes(name[...]) }) { return .excluded }
        let isPermitted =
            permitted.domains.isEmpty || permitted.domains.contains { $0.includes(name[...]) }
        return isPermitted ? .allowed : .notPermitted
    }

    /// Whether a host that `*.…` covers is excluded; false for any other name.
    package func excludeSome(of name: String) -> Bool {
        let name = name.utf8.map(\.asciiLowercased)
        guard name.starts(with: [0x2A, 0x2E]) else { return false }
        let base = name.dropFirst(2)
        return excluded.domains.contains { $0.includes(base) || $0.isChild(of: base) }
    }

    // MARK: Reading

    private static func subtrees(_ list: ArraySlice<UInt8>, _ count: inout Int) -> Subtrees? {
        var subtrees = Subtrees()
        var reader = DERReader(list)
        // "SIZE (1..MAX)".
        guard !reader.isAtEnd else { return nil }
        while let subtree = reader.next(tag: 0x30) {
            count += 1
            guard count <= subtreesMax else { return nil }
            var fields = DERReader(subtree)
            guard let base = fields.next() else { return nil }
            switch base.tag {
            case 0x82:
                guard let domain = Domain(base.contents) else { return nil }
                subtrees.domains.append(domain)
            case 0x87:
                guard let network = network(base.contents) else { return nil }
                subtrees.networks.append(network)
            case 0xA0, 0x81, 0xA3, 0xA4, 0xA5, 0x86, 0x88: break
            default: return nil
            }
            // "The minimum MUST be zero, and maximum MUST be absent."
            if let minimum = fields.next(tag: 0x80), Array(minimum) != [0] { return nil }
            guard fields.isAtEnd else { return nil }
        }
        return reader.isAtEnd ? subtrees : nil
    }

    /// An address and a mask "in the style of RFC 4632": ones, then zeros.
    private static func network(_ contents: ArraySlice<UInt8>) -> CIDR? {
        guard contents.count == 8 || contents.count == 32 else { return nil }
        let bytes = contents.prefix(contents.count / 2)
        let mask = contents.suffix(contents.count / 2)
        let prefix = mask.reduce(0) { $0 + $1.nonzeroBitCount }
        let isContiguous = mask.enumerated().allSatisfy { i, byte in
            byte == UInt8(truncatingIfNeeded: 0xFF00 >> min(max(prefix - i * 8, 0), 8))
        }
        guard isContiguous else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard bytes.count == 16 else {
            return CIDR(.v4(UInt32(truncatingIfNeeded: number(bytes))), prefix: prefix)
        }
        let address = IPAddress.v6(high: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
        return CIDR(address, prefix: prefix)
    }

    /// A domain with the names below it; an empty one contains all names.
    private struct Domain {
        /// In lower case, without a leading dot.
        private let name: [UInt8]
        /// Whether the domain itself is outside, and only names below it are in.
        private let isBelowOnly: Bool

        /// Returns nil for an invalid name: a wildcard or a trailing dot would match nothing.
        init?(_ contents: ArraySlice<UInt8>) {
            isBelowOnly = contents.first == 0x2E
            name = contents.dropFirst(isBelowOnly ? 1 : 0).map(\.asciiLowercased)
            if contents.isEmpty { return }
            let labels = name.split(separator: 0x2E, omittingEmptySubsequences: false)
            guard labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(CertificateForm.isNameByte) })
            else { return nil }
        }

        func includes(_ host: ArraySlice<UInt8>) -> Bool {
            if name.isEmpty { return true }
            guard host.count > name.count else { return !isBelowOnly && host.elementsEqual(name) }
            return host.dropLast(name.count).last == 0x2E && host.suffix(name.count) == name[...]
        }

        /// Whether the domain itself is `base` with one more label in front.
        func isChild(of base: ArraySlice<UInt8>) -> Bool {
            guard !isBelowOnly, let dot = name.firstIndex(of: 0x2E) else { return false }
            return name[(dot + 1)...] == base
        }
    }
}

// MARK: A path

extension NameConstraints {
    /// The first CA of a path whose constraints reject the host or a wildcard of the server's
    /// certificate, and its index.
    ///
    /// OpenSSL accepted the path, so the names in it need no check, and are few enough to compare.
    /// `host` is the requested host, nil for any; a mismatch between it and the certificate is not
    /// checked here.
    static func problem(of path: [Certificate], host: Host?) -> (TrustProblem, Int)? {
        guard path.count > 1, let leaf = path.first else { return nil }
        let names = ServerNames(leaf)
        let host = host.flatMap { names.include($0) ? $0 : nil }
        let identifier = CertificateContents.Identifier.nameConstraints
        for (i, certificate) in path.enumerated().dropFirst() {
            guard let part = CertificateContents(certificate.der)?.value(identifier) else {
                continue
            }
            let name = VerificationError.name(certificate, isServers: false)
            guard let constraints = NameConstraints(part.value) else {
                return (TrustProblem(.constraint, "\(name) \(malformed)."), i)
            }
            if let flaw = constraints.flaw(of: names, host) {
                return (TrustProblem(.constraint, "\(name) constrains names, and \(flaw)."), i)
            }
        }
        return nil
    }

    /// The problem's text for a CA whose constraints can't be parsed.
    static let malformed = "has name constraints that are malformed or too many"

    private func flaw(of names: ServerNames, _ host: Host?) -> String? {
        if let host, let flaw = ruling(on: host).flaw(host.text) { return flaw }
        return names.dnsNames.first(where: excludeSome).map {
            "excludes some of what \($0) stands for"
        }
    }
}

// MARK: OpenSSL's errors

extension NameConstraints {
    /// The CA of a path whose constraints made OpenSSL refuse the certificate at `depth`, and its
    /// index; nil if there is none.
    static func violation(of path: [Certificate], at depth: Int) -> (TrustProblem, Int)? {
        guard path.indices.contains(depth) else { return nil }
        for (i, authority) in path.enumerated().dropFirst(depth + 1) {
            guard let error = authority.nameError(of: path[depth], isLeaf: depth == 0) else {
                continue
            }
            let name = VerificationError.name(authority, isServers: false)
            let flaw = flaw(authority, error, path[depth], isLeaf: depth == 0)
            return (TrustProblem(.constraint, "\(name) \(flaw)."), i)
        }
        return nil
    }

    private static func flaw(
        _ authority: Certificate,
        _ error: Int32,
        _ certificate: Certificate,
        isLeaf: Bool
    ) -> String {
        let part = CertificateContents(authority.der)?
            .value(CertificateContents.Identifier.nameConstraints)
        guard let constraints = part.flatMap({ NameConstraints($0.value) }) else {
            return malformed
        }
        let owner = isLeaf ? "the server's certificate" : "“\(certificate.subjectText)”"
        switch error {
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION:
            let act = error == X509_V_ERR_EXCLUDED_VIOLATION ? "excludes" : "does not permit"
            let flaw = constraints.flaw(ofNamesIn: certificate)
            return "constrains names, and \(flaw ?? "\(act) a name in \(owner) that is no host")"
        case X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE:
            return "constrains names of a kind that lupin does not understand"
        case X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            return "constrains names, and \(owner) has one that is malformed"
        case X509_V_ERR_SUBTREE_MINMAX, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX: return malformed
        default: return "has too many name constraints for the many names in \(owner)"
        }
    }

    /// Which host name or address in a certificate is not allowed; nil for none.
    private func flaw(ofNamesIn certificate: Certificate) -> String? {
        for name in certificate.subjectAlternativeNames {
            switch name {
            case .dns(let text):
                let bytes = text.utf8.map(\.asciiLowercased)
                if let flaw = ruling(onName: bytes).flaw(text) { return flaw }
            case .address(let address):
                if let flaw = ruling(on: address).flaw(address.text) { return flaw }
            case .other: continue
            }
        }
        return nil
    }
}

extension NameConstraints.Ruling {
    /// The ruling on a name in words; nil if it is allowed.
    fileprivate func flaw(_ name: String) -> String? {
        switch self {
        case .allowed: nil
        case .notPermitted: "does not permit \(name)"
        case .excluded: "excludes \(name)"
        }
    }
}

extension Certificate {
    /// OpenSSL's error for another certificate's names under the constraints of this one.
    fileprivate func nameError(of other: Certificate, isLeaf: Bool) -> Int32? {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: the constraints are made and freed here; both certificates are held.
        return unsafe withX509 { authority in
            unsafe other.withX509 { certificate in
                let made = unsafe X509_get_ext_d2i(authority, NID_name_constraints, nil, nil)
                guard let made = unsafe made else { return nil }
                let constraints = unsafe made.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
                defer { unsafe NAME_CONSTRAINTS_free(constraints) }
                var error = unsafe NAME_CONSTRAINTS_check(certificate, constraints)
                if error == X509_V_OK, isLeaf {
                    error = unsafe NAME_CONSTRAINTS_check_CN(certificate, constraints)
                }
                return error == X509_V_OK ? nil : error
            }
        }
    }
}
