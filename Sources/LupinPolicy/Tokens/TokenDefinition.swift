// An entry of `tokens:`: the source of a credential, and the hosts that get it.

package import LupinCore

/// A named credential of the rules file.
package struct TokenDefinition: Sendable, Equatable {
    package var name: String
    /// The 1-based line of the name in its file.
    package var line: Int
    package var column = 1
    package var source: TokenSource
    package var field: TokenField
    /// Hosts that get it in addition to those of the rules that name it.
    package var hosts: [HostPattern] = []
    /// Whether it may be sent over `http:` to other machines.
    package var plainHTTP = false
    package var refresh = RefreshSettings()
    package var onMissing = OnMissing.fail
    /// How stand-ins for it look.
    package var standIn = StandInTemplate.usual

    /// How to handle a request whose credential is missing.
    package enum OnMissing: UInt8, Sendable, Equatable {
        /// Answer 502 and send nothing.
        case fail
        /// Send the request without it.
        case send
    }

    package init(name: String, line: Int, source: TokenSource, field: TokenField? = nil) {
        self.name = name
        self.line = line
        self.source = source
        self.field = field ?? TokenField(for: source)
    }
}

/// The source of a credential.
package enum TokenSource: Sendable, Equatable {
    /// A fixed token (RFC 6750).
    case bearer(SecretText)
    /// RFC 7617; with `preemptive` it is sent at once, else only after a challenge.
    case basic(user: SecretText, password: SecretText, preemptive: Bool)
    /// RFC 7616.
    case digest(user: SecretText, password: SecretText)
    /// The output of a program.
    case command(CommandSource)
    /// A token from a token server (RFC 6749).
    case oauth2(OAuth2Source)

    /// The secret files to read, in order.
    package var paths: [String] {
        switch self {
        case .bearer(let token): token.paths
        case .basic(let user, let password, _), .digest(let user, let password):
            user.paths + password.paths
        case .command: []
        case .oauth2(let source): source.paths
        }
    }

    /// Whether reading it again may return another credential.
    ///
    /// A value from the rules file or the environment stays the same until the next load.
    package var isRefreshable: Bool {
        switch self {
        case .bearer, .basic, .digest: !paths.isEmpty
        case .command, .oauth2: true
        }
    }
}

/// `command:` with its related keys.
package struct CommandSource: Sendable, Equatable {
    /// The program and its arguments; never empty.
    package var arguments: [String]
    /// How long its output is valid; nil means until a 401.
    package var every: Duration?
    package var timeout = Duration.seconds(5)
    /// What its environment holds besides lupin's own.
    package var variables: [Variable] = []
    /// Where it runs; nil for lupin's working folder.
    package var folder: String?
    /// Absolute paths that it must not see: a confined command may write there.
    package var unseen: [String] = []

    /// A variable whose value may be a secret.
    package struct Variable: Sendable, Equatable {
        package var name: String
        package var value: SecretText

        package init(name: String, value: SecretText) {
            self.name = name
            self.value = value
        }
    }

    package init(arguments: [String]) { self.arguments = arguments }

    /// The credential in the program's output: one line, without the line end.
    package func credential(output: [UInt8]) throws(TokenFailure) -> String {
        let program = arguments.first ?? ""
        guard output.count <= TokenField.credentialBytesMax else {
            throw TokenFailure(.command(program: program, .outputTooLong))
        }
        guard let text = SecretText.text(ofFile: output) else {
            throw TokenFailure(.command(program: program, .outputNotText))
        }
        guard !text.isEmpty else { throw TokenFailure(.missing) }
        return text
    }

    /// The first line of the program's standard error, for its owner; nil where it has none.
    package static func complaint(in errors: [UInt8]) -> String? {
        let lines = errors.split { $0 == 0x0A || $0 == 0x0D }
        let line = lines.lazy.map { String(decoding: $0, as: UTF8.self).trimmedOfBlanks }
            .first { !$0.isEmpty }
        return line.map { LogText.plain(String($0.prefix(200))) }
    }
}

/// `oauth2:` (RFC 6749).
package struct OAuth2Source: Sendable, Equatable {
    package enum Grant: String, Sendable, Equatable, CaseIterable {
        /// RFC 6749 §4.4.
        case clientCredentials = "client_credentials"
        /// RFC 6749 §6.
        case refreshToken = "refresh_token"
    }

    /// How the client authenticates itself (RFC 6749 §2.3.1).
    package enum ClientAuthentication: String, Sendable, Equatable, CaseIterable {
        case basic, body
    }

    /// How the parameters of a request are written.
    package enum Encoding: String, Sendable, Equatable, CaseIterable {
        /// As RFC 6749 demands.
        case form
        case json
    }

    package struct Parameter: Sendable, Equatable {
        package enum Value: Sendable, Equatable {
            case text(SecretText)
            /// `${token}`: the access token of now; without one the parameter is left out.
            case accessToken
        }

        package var name: String
        package var value: Value

        package init(name: String, value: Value) {
            self.name = name
            self.value = value
        }

        fileprivate var paths: [String] {
            switch value {
            case .text(let text): text.paths
            case .accessToken: []
            }
        }
    }

    package var grant: Grant
    package var url: HTTPURL
    package var clientID: String
    package var clientSecret: SecretText?
    /// `body` without a secret: a public client only sends its ID (RFC 6749 §3.2.1).
    package var clientAuthentication: ClientAuthentication
    package var scope: String?
    /// Further parameters, such as `audience`, in the order of the file.
    package var parameters: [Parameter] = []
    /// The first refresh token, before any rotation.
    package var refreshToken: SecretText?
    /// The path of the file where rotated refresh tokens are kept.
    package var store: String?
    package var encoding = Encoding.form
    /// How often a request is sent again that reached no server, or one that is busy.
    package var retries = 2
    /// Whether machines share it by the server of `cache.store.shared`.
    package var isShared = false

    package init(
        grant: Grant,
        url: HTTPURL,
        clientID: String,
        clientSecret: SecretText? = nil,
        clientAuthentication: ClientAuthentication? = nil
    ) {
        self.grant = grant
        self.url = url
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.clientAuthentication = clientAuthentication ?? (clientSecret == nil ? .body : .basic)
    }

    fileprivate var paths: [String] {
        (clientSecret?.paths ?? []) + parameters.flatMap(\.paths)
            + (refreshToken?.paths ?? [])
    }
}

/// `refresh:`.
package struct RefreshSettings: Sendable, Equatable {
    /// How long before its expiry a credential is refreshed; nil: 10 % of its life, at most 5
    /// minutes.
    package var before: Duration?
    /// Responses that mean the credential was not accepted: those that meet one of them.
    package var on = [ValidationPolicy(status: 401)]
    /// nil: refreshes are not counted.
    package var window: Duration? = .seconds(30)
    /// The most refreshes that may begin within the window.
    package var max = 5
    /// Whether the request is resent with the new credential.
    package var replay = true

    package init() {}

    /// Whether the body of a response may say it.
    package var readsBodies: Bool { on.contains(where: \.needsBody) }

    /// Whether a response with that status may mean it.
    package func minds(_ status: UInt16) -> Bool {
        on.contains { $0.status?.contains(status) ?? true }
    }
}

/// The field that carries a credential, and its value.
package struct TokenField: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        case text(String)
        /// `${token}`: a bearer token unchanged, user and password as base64 (RFC 7617 §2).
        case token
    }

    /// Fields of common servers are limited to 8 KiB; no credential in use is as long.
    package static let credentialBytesMax = 32 << 10

    package var name: String
    package var value: [Part]

    package init(name: String, value: [Part] = [.token]) {
        self.name = name
        self.value = value
    }

    /// The usual field for the source; Digest makes its value for each request.
    package init(for source: TokenSource) {
        switch source {
        case .basic: self.init(name: "Authorization", value: [.text("Basic "), .token])
        case .digest: self.init(name: "Authorization")
        case .bearer, .command, .oauth2:
            self.init(name: "Authorization", value: [.text("Bearer "), .token])
        }
    }

    /// The value of the field with `credential` inserted.
    ///
    /// - Throws: `.missing` for an empty credential, `.unusable` if its bytes would end the field
    ///   or begin another one.
    package func value(credential: String) throws(TokenFailure) -> String {
        guard !credential.isEmpty else { throw TokenFailure(.missing) }
        guard credential.utf8.count <= TokenField.credentialBytesMax else {
            throw TokenFailure(.unusable(reason: "is longer than 32KiB"))
        }
        if let problem = RequestStep.problem(withFieldValue: credential) {
            throw TokenFailure(.unusable(reason: "does not fit: \(problem)"))
        }
        var result = ""
        for part in value {
            switch part {
            case .text(let text): result += text
            case .token: result += credential
            }
        }
        return result
    }
}

/// User and password, for Basic and Digest.
package struct UserPassword: Sendable, Equatable, Concealed {
    package let user: String
    package let password: String

    /// - Throws: `.unusable` for a user with a colon, which would begin the password
    ///   (RFC 7617 §2), and for control characters.
    package init(user: String, password: String) throws(TokenFailure) {
        guard !user.contains(":") else {
            throw TokenFailure(.unusable(reason: "has a colon in its user"))
        }
        for text in [user, password] where text.unicodeScalars.contains(where: \.isControl) {
            throw TokenFailure(.unusable(reason: "has a control character in it"))
        }
        self.user = user
        self.password = password
    }

    /// The part after `Basic`: `user:password` as base64 of UTF-8.
    package var base64: String { Base64Text.encode(Array("\(user):\(password)".utf8)) }
}

extension Unicode.Scalar {
    /// Whether RFC 7617 §2 and RFC 9110 §5.5 forbid it in users, passwords and fields.
    var isControl: Bool { value < 0x20 || value == 0x7F }
}
