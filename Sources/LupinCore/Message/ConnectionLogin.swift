// Which credentials belong to a connection, and not to the message that carries them.

/// A scheme that logs its user in to a connection: later requests on it are that user's, although
/// they carry no credentials (RFC 9110 §11.7, RFC 4559 §6).
///
/// Schemes of other names may do so, too: see ``LoginOffer``.
package enum ConnectionLogin: String, CaseIterable, Sendable {
    case negotiate = "Negotiate"
    case ntlm = "NTLM"
    case kerberos = "Kerberos"
    case nego2 = "Nego2"
    case credSSP = "CredSSP"
    case pku2u = "PKU2U"

    /// Finds the scheme in an Authorization or a Proxy-Authorization; nil if it logs in to nothing.
    ///
    /// Any element of a list may begin with it: some servers read past what they don't know.
    package init?(credentials: Span<UInt8>) {
        var position = 0
        while let word = CredentialWord.next(in: credentials, &position) {
            let word = credentials.extracting(word)
            let login = Self.allCases.first { word.equalsIgnoringCase($0.rawValue.utf8.span) }
            guard let login else { continue }
            self = login
            return
        }
        return nil
    }
}

/// What a request shows of a login to its connection.
package enum LoginOffer: Sendable, Equatable {
    /// No credentials, or such as are valid for their message alone.
    case none
    case login
    /// Schemes of no name known here: the response shows what they are.
    case unknown([String])

    /// Reads the value of an Authorization or a Proxy-Authorization.
    package init(credentials: Span<UInt8>) {
        if ConnectionLogin(credentials: credentials) != nil {
            self = .login
            return
        }
        var unknown: [String] = []
        var position = 0
        while let word = CredentialWord.next(in: credentials, &position) {
            let end = word.upperBound
            // A parameter of the scheme before it.
            if end < credentials.count, credentials[end] == UInt8(ascii: "=") { continue }
            let word = credentials.extracting(word)
            let isKnown = Self.ofMessages.contains { word.equalsIgnoringCase($0.utf8.span) }
            if !isKnown, !word.isEmpty { unknown.append(String(copying: word)) }
        }
        self = unknown.isEmpty ? .none : .unknown(unknown)
    }

    /// The offer of two fields.
    fileprivate func joined(with other: LoginOffer) -> LoginOffer {
        switch (self, other) {
        case (.login, _), (_, .login): .login
        case (.none, _): other
        case (_, .none): self
        case (.unknown(let one), .unknown(let two)): .unknown(one + two)
        }
    }

    /// The schemes whose credentials are valid for their message alone.
    fileprivate static let ofMessages = ["Basic", "Digest", "Bearer"]
}

/// The words of a list with which credentials may begin.
private enum CredentialWord {
    /// The first word of the next element, from `position`; nil behind the last.
    static func next(in list: Span<UInt8>, _ position: inout Int) -> Range<Int>? {
        while position < list.count, separators.contains(list[position]) { position &+= 1 }
        guard position < list.count else { return nil }
        let start = position
        while position < list.count, list[position].isTokenByte { position &+= 1 }
        let end = position
        while position < list.count, list[position] != UInt8(ascii: ",") { position &+= 1 }
        return start..<end
    }

    private static let separators = Array(", \t".utf8)
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
        guard let credentials else { return nil }
        let word = word(of: credentials)
        let step = challenges.first { challenge in
            guard challenge.isScheme(word) else { return false }
            if challenge.isScheme("Digest") { return challenge["stale"]?.lowercased() == "true" }
            return challenge.isLoginStep
        }
        // What the server says itself is no part of a secret.
        return step.map { scheme(of: credentials) ?? $0.scheme }
    }

    /// The scheme of credentials, as the registry spells it; nil for one that is not known, whose
    /// text may be part of a secret.
    package static func scheme(of credentials: String) -> String? {
        let word = word(of: credentials).lowercased()
        return schemes.first { $0.lowercased() == word }
    }

    /// Whether the next message of a login by the scheme must come by the same connection.
    package static func isByConnection(_ scheme: String) -> Bool { scheme != "Digest" }

    private static func word(of credentials: String) -> String {
        String(credentials.prefix { $0 != " " && $0 != "\t" })
    }

    private static let schemes = LoginOffer.ofMessages + ConnectionLogin.allCases.map(\.rawValue)
}

extension AuthenticationChallenge {
    /// Whether it asks for a login to the connection.
    package var asksForLogin: Bool {
        ConnectionLogin.allCases.contains { isScheme($0.rawValue) } || isLoginStep
    }

    /// Whether it has the next message of a login in several steps, which goes on where it began:
    /// Basic, Bearer and Digest have parameters instead (RFC 9110 §11.2).
    fileprivate var isLoginStep: Bool {
        token68?.isEmpty == false && !LoginOffer.ofMessages.contains(where: isScheme)
    }
}

extension RequestHead {
    /// Whether a field that is sent logs in to the connection: to the origin, or to a parent proxy.
    package var logsInToConnection: Bool { loginOffer == .login }

    /// What the fields that are sent show of a login to the connection.
    package var loginOffer: LoginOffer {
        guard fields.names.meets(Self.credentialNames) else { return .none }
        var offer = LoginOffer.none
        for line in fields.lines where Self.credentialNames.contains(line.known) {
            if line.isHopByHop { continue }
            let value = fields.storage.span.extracting(line.value.range)
            offer = offer.joined(with: LoginOffer(credentials: value))
        }
        return offer
    }

    private static let credentialNames = FieldNameSet().with(.authorization)
        .with(.proxyAuthorization)
}

extension ResponseHead {
    /// Whether its connection has a user, or gets one by the next messages: the server says so
    /// ([MS-N2HT] 2.2.1), or goes on with a login by the scheme of the request.
    package func showsLogin(after offer: LoginOffer) -> Bool {
        if fields.names.contains(.persistentAuth),
            fields.values(of: FieldName.persistentAuth.spelling)
                .contains(where: { $0.lowercased() == "true" })
        {
            return true
        }
        guard status == 401 || status == 407, case .unknown(let schemes) = offer else {
            return false
        }
        return [FieldName.wwwAuthenticate, .proxyAuthenticate]
            .flatMap { AuthenticationChallenge.challenges(in: fields, $0) }
            .contains { $0.isLoginStep && schemes.contains(where: $0.isScheme) }
    }
}
