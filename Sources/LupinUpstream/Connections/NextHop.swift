// The peer that a connection leads to: the origin itself, or a parent proxy.
package import LupinCore
package import LupinPolicy

/// The next hop of a request; connections are pooled by it.
package enum NextHop: Hashable, Sendable {
    /// The origin in clear text, or the target of a tunnel, whatever protocol flows through it.
    case origin(Origin)
    /// A parent proxy that receives the request itself.
    ///
    /// Indirect, as is the next case, so that a hop is one reference.
    indirect case parent(ParentHop)
    /// The origin under TLS, directly or through a tunnel of a parent proxy.
    indirect case secure(Origin, OriginSecurity, through: ParentHop?)

    /// The name or address to connect to.
    package var host: Host {
        switch self {
        case .origin(let origin), .secure(let origin, _, nil): origin.host
        case .parent(let parent), .secure(_, _, let parent?): parent.proxy.host
        }
    }

    var port: UInt16 {
        switch self {
        case .origin(let origin), .secure(let origin, _, nil): origin.port
        case .parent(let parent), .secure(_, _, let parent?): parent.proxy.port
        }
    }

    /// `host:port` of the peer that answers, for errors.
    package var text: String {
        switch self {
        case .origin(let origin), .secure(let origin, _, _): origin.hostAndPort
        case .parent(let parent): parent.text
        }
    }

    /// Whether lupin itself speaks TLS with the origin.
    package var isSecure: Bool {
        if case .secure = self { true } else { false }
    }

    /// The parent proxy that receives requests; nil when it only tunnels.
    package var parent: ParentProxy? {
        switch self {
        case .origin, .secure: nil
        case .parent(let parent): parent.proxy
        }
    }

    /// Whether the client's own Proxy-Authorization is for the parent proxy, which has no
    /// credentials of ours.
    package var leavesProxyAuthorization: Bool {
        guard case .parent(let parent) = self else { return false }
        return parent.proxy.userinfo == nil && parent.login == nil
    }

    /// Whether a parent proxy is connected to; cheaper than a look at it.
    package var isThroughParent: Bool {
        switch self {
        case .origin, .secure(_, _, nil): false
        case .parent, .secure: true
        }
    }

    /// The same way without the client's own credentials for the parent proxy.
    package var withoutLogin: NextHop {
        guard case .secure(let origin, let security, var parent?) = self else { return self }
        parent.login = nil
        parent.user = nil
        return .secure(origin, security, through: parent)
    }

    /// The parent proxy that is connected to, whether it receives requests or only tunnels.
    package var connectedParent: ParentHop? {
        switch self {
        case .origin: nil
        case .parent(let parent): parent
        case .secure(_, _, let parent): parent
        }
    }
}

extension ParentHop {
    /// `host:port` of the proxy, for people.
    package var text: String { "\(proxy.host.uriText):\(proxy.port)" }
}

extension NextHop {
    /// Returns false when what is attached identifies the sender of a whole connection, and
    /// connections and TLS sessions to this hop are not kept separate by it.
    package func isApart(by attached: Attached) -> Bool {
        switch attached {
        case .clientCertificate(let files):
            if case .secure(_, let security, _) = self {
                security.clientCertificate == files
            } else {
                false
            }
        case .parentIdentity(let proxy): connectedParent?.proxy == proxy
        case .clientIdentity(let login):
            // A request to the parent itself carries it; a tunnel was opened with it.
            parent != nil || connectedParent?.identity == login
        // Every message carries it by itself.
        case .token, .secret, .cookies: true
        // The connection is its client's alone (`PinnedUpstream`).
        case .connectionLogin: true
        // It sends nothing.
        case .privateResponses, .followedRedirect: true
        }
    }
}

/// A parent proxy and how to reach it.
package struct ParentHop: Hashable, Sendable {
    package let proxy: ParentProxy
    /// The TLS context for the proxy; nil when it is reached in clear text.
    let security: OriginSecurity?
    /// The client's own Proxy-Authorization for it, with which its CONNECT was sent: tunnels are
    /// opened with it, and shared by clients with the same one only.
    package var login: String?
    /// The exchange whose client has logged in to the connection that is the tunnel
    /// (`ConnectionLogin`), so that what goes by it is that client's alone; nil for no such login.
    package var user: String?

    package init(proxy: ParentProxy, security: OriginSecurity?) {
        self.proxy = proxy
        self.security = security
    }

    /// By what the parent knows the client of a tunnel; nil where it doesn't.
    package var identity: String? { login ?? user }
}
