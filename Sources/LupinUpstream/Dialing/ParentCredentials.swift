// Credentials for a parent proxy: Basic without a challenge, Digest after one.
package import LupinCore
package import LupinPolicy
package import LupinTLS
import LupinWire
import Synchronization

/// The Digest challenges of parent proxies (RFC 7616), for all workers.
package final class ParentCredentials: Sendable {
    private let sessions = Mutex<[ParentProxy: DigestSession]>([:])
    /// The parent proxies that lately gave a tunnel to a client without credentials.
    private let open = Mutex<Set<ParentProxy>>([])

    /// The value of Proxy-Authorization for a request; nil where the rules file has no credentials.
    ///
    /// `uri` is the request target as sent: a URL, or `host:port` of a CONNECT. A parent that asks
    /// for a Digest of a `content` that is not known gets none, and never the password.
    package func field(
        for parent: ParentProxy,
        method: Method,
        uri: String,
        content: [UInt8]?
    ) -> String? {
        guard let userinfo = parent.userinfo else { return nil }
        return sessions.withLock { sessions -> String? in
            guard var session = sessions[parent], let pair = Self.pair(userinfo) else {
                return BasicCredentials.field(userinfo)
            }
            let field = session.field(
                method: method.token,
                uri: uri,
                content: content,
                credentials: pair,
                cnonce: Base64Text.encode(RandomSource.bytes(count: 18)),
                hash: MessageDigest.digest
            )
            sessions[parent] = session
            return field
        }
    }

    /// Takes the challenges of a 407; returns false when sending the request again would not help.
    package func challenged(by parent: ParentProxy, _ response: ResponseHead) -> Bool {
        guard parent.userinfo != nil else { return false }
        let challenges = AuthenticationChallenge.challenges(
            in: response.fields,
            .proxyAuthenticate
        )
        return sessions.withLock { sessions in
            guard var session = sessions[parent] else {
                sessions[parent] = DigestSession(challenges)
                return sessions[parent] != nil
            }
            let reaction = session.challenged(challenges, answered: session.mark)
            sessions[parent] = session
            return reaction == .replay
        }
    }

    /// Whether the parent gives tunnels to clients without credentials, as far as is known.
    package func isOpen(_ parent: ParentProxy) -> Bool { open.withLock { $0.contains(parent) } }

    package func noteOpen(_ parent: ParentProxy) { open.withLock { _ = $0.insert(parent) } }

    func noteClosed(_ parent: ParentProxy) { open.withLock { _ = $0.remove(parent) } }

    private static func pair(_ userinfo: String) -> UserPassword? {
        let colon = userinfo.firstIndex(of: ":") ?? userinfo.endIndex
        return try? UserPassword(
            user: String(userinfo[..<colon]),
            password: String(userinfo[colon...].dropFirst())
        )
    }
}

extension MessageDigest {
    /// The hash function that Digest authentication uses.
    package static func digest(_ function: DigestAlgorithm.Hash, _ bytes: [UInt8]) -> [UInt8] {
        switch function {
        case .md5: md5(bytes.span)
        case .sha256: sha256(bytes.span)
        case .sha512: sha512By256(bytes.span)
        }
    }
}

extension LupinError {
    /// A parent proxy did not accept the user and password of the rules file.
    package static func loginRefused(
        by parent: ParentHop,
        _ head: ResponseHead,
        wasRepeated: Bool = true
    ) -> LupinError {
        let challenges = AuthenticationChallenge.challenges(in: head.fields, .proxyAuthenticate)
        return LupinError(
            .proxyConfigurationError,
            detail: FailedParent.reason(for: challenges, wasRepeated: wasRepeated),
            side: .upstream,
            // Another try would get the same refusal, and could lock the account.
            retry: .never,
            status: 502
        ).blaming(parent.text, status: 407)
    }
}
