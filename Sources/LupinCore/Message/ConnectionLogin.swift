// Which credentials belong to a connection, and not to the message that carries them.

/// A scheme that logs its user in to a connection: later requests on it are that user's, although
/// they carry no credentials (RFC 9110 §11.7, RFC 4559 §6).
///
/// A closed set; the credentials of any other scheme are valid for their message alone.
package enum ConnectionLogin: CaseIterable, Sendable {
    case negotiate, ntlm, kerberos, nego2

    /// Reads the scheme of an Authorization or a Proxy-Authorization; nil if it logs in to nothing.
    package init?(credentials: Span<UInt8>) {
        var end = 0
        while end < credentials.count, credentials[end].isTokenByte { end &+= 1 }
        let scheme = credentials.extracting(first: end)
        let login = Self.allCases.first { scheme.equalsIgnoringCase($0.scheme.utf8.span) }
        guard let login else { return nil }
        self = login
    }

    /// In lower case.
    private var scheme: String {
        switch self {
        case .negotiate: "negotiate"
        case .ntlm: "ntlm"
        case .kerberos: "kerberos"
        case .nego2: "nego2"
        }
    }
}

/// A 401 or a 407 that is no refusal: the server goes on with a login that the client has begun.
package enum LoginStep {
    /// The scheme of a login that goes on; nil if none does.
    ///
    /// The server answers a message of the client's by the next one (RFC 4559 §4), or its Digest by
    /// a new nonce (RFC 7616 §3.3).
    package static func scheme(
        after credentials: String?,
        by challenges: [AuthenticationChallenge]
    ) -> String? {
        guard let credentials, let scheme = scheme(of: credentials) else { return nil }
        let isOfConnection = ConnectionLogin(credentials: credentials.utf8Span.span) != nil
        let goesOn = challenges.contains { challenge in
            guard challenge.isScheme(scheme) else { return false }
            if isOfConnection { return challenge.token68?.isEmpty == false }
            return scheme == "Digest" && challenge["stale"]?.lowercased() == "true"
        }
        return goesOn ? scheme : nil
    }

    /// The scheme of credentials, as the registry spells it; nil for one that is not known, whose
    /// text may be part of a secret.
    package static func scheme(of credentials: String) -> String? {
        let word = credentials.prefix { $0 != " " && $0 != "\t" }.lowercased()
        return schemes.first { $0.lowercased() == word }
    }

    private static let schemes = [
        "Basic", "Digest", "Bearer", "NTLM", "Negotiate", "Kerberos", "Nego2",
    ]
}

extension RequestHead {
    /// Whether a field that is sent logs in to the connection: to the origin, or to a parent proxy.
    package var logsInToConnection: Bool {
        guard fields.names.meets(Self.credentialNames) else { return false }
        return fields.lines.contains { line in
            guard line.known == .authorization || line.known == .proxyAuthorization,
                !line.isHopByHop
            else { return false }
            let value = fields.storage.span.extracting(line.value.range)
            return ConnectionLogin(credentials: value) != nil
        }
    }

    private static let credentialNames = FieldNameSet().with(.authorization)
        .with(.proxyAuthorization)
}
