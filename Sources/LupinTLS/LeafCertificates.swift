// Which certificate a client is shown for a host: made on demand, signed by the local authority.
package import LupinCore
import Synchronization

/// Leaves of the local authority, each for one host alone, shared by all threads.
///
/// A leaf names only the host that was asked for, and never the wildcards of the real certificate:
/// so a client can't send requests for another host on the same connection (RFC 9113 §9.1.1).
package final class LeafCertificates: Sendable {
    /// How many leaves are kept; then the one that was asked for longest ago gives way.
    package static let defaultCountMax = 1024

    private struct Leaf {
        let identity: TLSIdentity
        let certificate: Certificate
        /// Seconds since 1970 from which it is made anew.
        let renewal: Int64
        let made: Int64
        /// The number of the latest look-up that found it.
        var lastUse: UInt64

        /// Whether it needn't be made anew: a quarter of its life is left, and the clock not set
        /// back so far that it isn't valid yet.
        func isGood(at now: Int64) -> Bool {
            now < renewal && now > made - CertificateAuthority.clockSkewSeconds
        }
    }

    private struct Cache {
        var leaves: [Host: Leaf] = [:]
        var uses: UInt64 = 0

        /// Forgets the leaf that was asked for longest ago.
        ///
        /// Looking at all of them takes a tenth of the time that signing the next one does.
        mutating func dropOldest() {
            let oldest = leaves.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { leaves[oldest.key] = nil }
        }
    }

    private let authority: CertificateAuthority
    /// One key for all: the process that holds it could sign for any host anyway.
    private let key: PrivateKey
    private let lifetimeSeconds: Int64
    private let countMax: Int
    private let cache = Mutex(Cache())

    /// No leaves yet, and a new key for them.
    ///
    /// - Parameters:
    ///   - authority: Who signs.
    ///   - lifetime: How long a leaf is valid, between a minute and what the authority has left.
    ///   - keyType: RSA for clients that know nothing else; making such a key takes some 100 ms.
    ///   - countMax: How many leaves are kept.
    /// - Throws: What OpenSSL says of making the key.
    package init(
        _ authority: CertificateAuthority,
        lifetime: Duration,
        keyType: CertificateAuthoritySettings.KeyType = .p256,
        countMax: Int = LeafCertificates.defaultCountMax
    ) throws(CertificateFailure) {
        self.authority = authority
        key = try PrivateKey.generate(PrivateKey.Algorithm(keyType))
        lifetimeSeconds = max(60, lifetime.components.seconds)
        self.countMax = max(1, countMax)
    }

    /// The leaf for `host` with its key.
    ///
    /// - Parameters:
    ///   - host: Whom the client asked for.
    ///   - now: Seconds since 1970.
    /// - Returns: The same one as last time, while a quarter of its life is left.
    /// - Throws: `expired` or `notYetValid` for the authority; else what OpenSSL says.
    package func identity(
        for host: Host,
        now: Int64
    ) throws(CertificateFailure) -> TLSIdentity {
        try leaf(for: host, now: now).identity
    }

    /// The certificate of the leaf for `host`.
    package func certificate(
        for host: Host,
        now: Int64
    ) throws(CertificateFailure) -> Certificate {
        try leaf(for: host, now: now).certificate
    }

    private func leaf(for host: Host, now: Int64) throws(CertificateFailure) -> Leaf {
        if let known = known(host, now: now) { return known }
        // Not under the lock: others shall find their leaves while this one is signed.
        let made = try make(for: host, now: now)
        return cache.withLock { cache in
            // Another thread may have been as fast; then both show the same one.
            if let other = cache.leaves[host], other.isGood(at: now) { return other }
            if cache.leaves[host] == nil, cache.leaves.count >= countMax { cache.dropOldest() }
            cache.uses &+= 1
            var leaf = made
            leaf.lastUse = cache.uses
            cache.leaves[host] = leaf
            return leaf
        }
    }

    private func known(_ host: Host, now: Int64) -> Leaf? {
        cache.withLock { cache in
            guard let index = cache.leaves.index(forKey: host),
                cache.leaves.values[index].isGood(at: now)
            else { return nil }
            cache.uses &+= 1
            cache.leaves.values[index].lastUse = cache.uses
            return cache.leaves.values[index]
        }
    }

    private func make(for host: Host, now: Int64) throws(CertificateFailure) -> Leaf {
        guard let first = authority.certificate.notBefore,
            let last = authority.certificate.notAfter
        else { throw .unreadableCertificate }
        if now < first { throw .notYetValid(first) }
        if now >= last { throw .expired(last) }
        let name: Certificate.AlternativeName = host.address.map { .address($0) } ?? .dns(host.text)
        // A common name has 64 letters at most; nobody should read it, and some people do.
        let commonName = host.text.utf8.count <= 64 ? host.text : nil
        var builder = CertificateBuilder(key: key, commonName: commonName, now: now)
        builder.issuer = .authority(authority.certificate, authority.key)
        builder.notBefore = max(first, now - CertificateAuthority.clockSkewSeconds)
        builder.notAfter = min(last, now + min(lifetimeSeconds, last - now))
        builder.basicConstraints = .init(isAuthority: false)
        builder.keyUsage = key.isRSA ? [.digitalSignature, .keyEncipherment] : .digitalSignature
        builder.purposes = [CertificateBuilder.Purpose.server]
        builder.alternativeNames = [name]
        let certificate = try builder.build()
        return Leaf(
            // The authority goes along, though no client needs it: Chromium finds a key that it was
            // told to trust only among the certificates that were sent.
            identity: try TLSIdentity(
                certificate,
                chain: [authority.certificate] + authority.chain,
                key: key
            ),
            certificate: certificate,
            renewal: builder.notAfter - (builder.notAfter - now) / 4,
            made: now,
            lastUse: 0
        )
    }
}
