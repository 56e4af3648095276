// The certificates that clients see for a host: made on demand, signed by the local CA.
package import LupinCore
import Synchronization

/// Leaves of the local CA, each for one host only, shared by all threads.
///
/// A leaf names only the requested host, and none of the real certificate's wildcards: so a client
/// can't send requests for another host on the same connection (RFC 9113 §9.1.1).
package final class LeafCertificates: Sendable {
    /// How many leaves are kept; when full, the least recently used one is evicted.
    package static let defaultCountMax = 1024

    private struct Leaf {
        let identity: TLSIdentity
        let certificate: Certificate
        /// Seconds since 1970 from which it is renewed.
        let renewal: Int64
        let made: Int64
        /// The number of the last look-up that returned it.
        var lastUse: UInt64

        /// Whether it needs no renewal.
        ///
        /// A quarter of its lifetime is left, and the clock was not set back to before its
        /// validity.
        func isGood(at now: Int64) -> Bool {
            now < renewal && now > made - CertificateAuthority.clockSkewSeconds
        }
    }

    private struct Cache {
        var leaves: [Host: Leaf] = [:]
        var uses: UInt64 = 0

        /// Evicts the least recently used leaf.
        ///
        /// The linear search takes a tenth of the time of signing the next leaf.
        mutating func dropOldest() {
            let oldest = leaves.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { leaves[oldest.key] = nil }
        }
    }

    private let authority: CertificateAuthority
    /// One key for all leaves: the process that holds it could sign for any host anyway.
    private let key: PrivateKey
    private let lifetimeSeconds: Int64
    private let countMax: Int
    private let cache = Mutex(Cache())

    /// An empty cache, and a new key for its leaves.
    ///
    /// - Parameters:
    ///   - authority: The CA that signs.
    ///   - lifetime: How long a leaf is valid: at least a minute, at most the CA's remaining time.
    ///   - keyType: RSA for clients that support nothing else; generating it takes some 100 ms.
    ///   - countMax: How many leaves are kept.
    /// - Throws: OpenSSL's error from generating the key.
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
    ///   - host: The host that the client requested.
    ///   - now: Seconds since 1970.
    /// - Returns: The cached leaf while a quarter of its lifetime is left, else a new one.
    /// - Throws: `expired` or `notYetValid` for the CA; else OpenSSL's error.
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
        // Outside the lock: other threads can get their leaves while this one is signed.
        let made = try make(for: host, now: now)
        return cache.withLock { cache in
            // Another thread may have signed one meanwhile; then both return the same one.
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
        // A common name has 64 characters at most; it is obsolete, and some users still read it.
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
            // The CA's certificate is sent too, though no client needs it: Chromium finds a key
            // that it was told to trust only among the certificates of the connection.
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
