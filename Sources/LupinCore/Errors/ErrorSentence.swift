// The sentence for users about each kind of error: what failed, at which host, what to try.

extension ErrorKind {
    /// The same, where it was a parent proxy that failed; the first letter is a capital.
    package func sentence(host: String, parent: FailedParent?, status: UInt16) -> String {
        let text =
            if let parent {
                sentence(host: host, by: parent, status: status)
            } else {
                sentence(host: host, status: status)
            }
        // What begins with the name of a host begins as that does.
        guard text.hasPrefix("the ") else { return text }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private func sentence(host: String, by parent: FailedParent, status: UInt16) -> String {
        switch parent.status {
        case 407? where self == .proxyConfigurationError:
            return "\(parent.text) did not accept the user and password that stand in "
                + "\(parent.key)."
        case 407? where self == .httpRequestDenied && status == 502:
            return "\(parent.text) wants to know who asks, and the client's user and password are "
                + "for lupin: put others into \(parent.key)."
        // lupin's own CONNECT, for a request inside that of the client.
        case 407?: return parent.challengeText(isInside: self == .destinationUnavailable)
        case let answered?:
            return "\(parent.text) answered CONNECT with \(answered), so there is no tunnel to "
                + "\(host). "
                + (answered < 500
                    ? "Does it allow this host and port?" : "Can it reach the host? Try again.")
        case nil: break
        }
        if isOfResponse { return sentence(host: "\(host) (\(parent.wayText))", status: status) }
        if self == .dnsError {
            return "The name of \(parent.text) could not be resolved. "
                + "Check the spelling and the network."
        }
        return sentence(host: parent.text, status: status)
    }

    /// Whether it is about what stands in a response, which a parent proxy may just have passed on.
    package var isOfResponse: Bool {
        switch self {
        case .proxyInternalResponse, .httpResponseHeaderSectionSize, .httpResponseHeaderSize,
            .httpResponseBodySize, .httpResponseTrailerSectionSize, .httpResponseTrailerSize,
            .httpResponseContentCoding:
            true
        case .dnsTimeout, .dnsError, .destinationNotFound, .destinationUnavailable,
            .destinationIPProhibited, .destinationIPUnroutable, .connectionRefused,
            .connectionTerminated, .connectionTimeout, .connectionReadTimeout,
            .connectionWriteTimeout, .connectionLimitReached, .tlsProtocolError,
            .tlsCertificateError, .tlsAlertReceived, .httpRequestError, .httpRequestDenied,
            .httpResponseIncomplete, .httpResponseTransferCoding, .httpResponseTimeout,
            .httpUpgradeFailed, .httpProtocolError, .proxyInternalError,
            .proxyConfigurationError, .tunnelNameDenied, .proxyLoopDetected:
            false
        }
    }

    /// Returns what failed at `host` and what to try, for users.
    ///
    /// The switch is exhaustive, so every kind must have a sentence. For refused requests the
    /// sentence depends on the status.
    package func sentence(host: String, status: UInt16) -> String {
        switch self {
        case .dnsTimeout, .dnsError, .destinationNotFound, .destinationUnavailable,
            .destinationIPProhibited, .destinationIPUnroutable:
            destinationSentence(host)
        case .connectionRefused, .connectionTerminated, .connectionTimeout,
            .connectionReadTimeout, .connectionWriteTimeout, .connectionLimitReached,
            .tlsProtocolError, .tlsCertificateError, .tlsAlertReceived:
            connectionSentence(host)
        case .httpRequestError: Self.requestErrorSentence(status)
        case .httpRequestDenied: Self.requestDeniedSentence(host, status)
        case .httpResponseIncomplete, .httpResponseHeaderSectionSize, .httpResponseHeaderSize,
            .httpResponseBodySize, .httpResponseTrailerSectionSize, .httpResponseTrailerSize,
            .httpResponseTransferCoding, .httpResponseContentCoding, .httpResponseTimeout,
            .httpUpgradeFailed, .httpProtocolError:
            responseSentence(host)
        case .proxyInternalResponse where status == 502:
            "The response of \(host) is not what `validate` of a rule demands, so it was refused."
        case .proxyInternalResponse: "A rule of lupin answered this request for \(host)."
        case .proxyInternalError where status == 502:
            "lupin could not make of this request for \(host) what its rules say, "
                + "so nothing was sent."
        case .proxyInternalError:
            "lupin itself failed on this request for \(host). "
                + "The log has the details under this id; please report it."
        case .proxyConfigurationError:
            "The rules file asks for something that cannot be done for \(host). "
                + "Run `lupin check`."
        case .tunnelNameDenied:
            "What the client showed inside its tunnel to \(host) is not allowed, "
                + "so nothing of it went there."
        case .proxyLoopDetected:
            "The request for \(host) came back to lupin itself. "
                + "Check `upstream.proxy` and the proxy variables of the server."
        }
    }

    private func destinationSentence(_ host: String) -> String {
        switch self {
        case .dnsTimeout:
            "The name server did not answer in time for \(host). Check the network, or try again."
        case .dnsError:
            "The name \(host) could not be resolved. Check the spelling and the network."
        case .destinationNotFound:
            "A tape is played instead of \(host), and it has no usable answer to this."
        case .destinationUnavailable:
            "No connection to \(host) came about. Is the server running, and can it be reached?"
        case .destinationIPProhibited:
            "lupin does not connect to the address of \(host). Where the rules file does not say "
                + "otherwise, `access.deny_targets` forbids link-local addresses and lupin's own."
        default:
            "There is no route to the address of \(host). Check the network or the VPN."
        }
    }

    private func connectionSentence(_ host: String) -> String {
        switch self {
        case .connectionRefused:
            "\(host) refused the connection. Is the server running, and is the port right?"
        case .connectionTerminated:
            "\(host) closed the connection before it answered."
        case .connectionTimeout:
            "\(host) could not be reached in time. "
                + "Check the network, or raise `timeouts.connect`."
        case .connectionReadTimeout:
            "\(host) stopped sending. If it may be silent for long, raise `timeouts.idle`."
        case .connectionWriteTimeout:
            "\(host) stopped reading the request. "
                + "If it may be busy for long, raise `timeouts.idle`."
        case .connectionLimitReached:
            "All connections lupin may open are in use. "
                + "Raise `limits.connections` or the system's `ulimit -n`, or try again."
        case .tlsProtocolError:
            "TLS with \(host) failed."
        case .tlsCertificateError:
            "The certificate of \(host) is not trusted, so nothing was sent. "
                + "If this server is yours, write a `trust` rule for it."
        default:
            "\(host) broke off TLS by an alert."
        }
    }

    private func responseSentence(_ host: String) -> String {
        switch self {
        case .httpResponseIncomplete:
            "The response of \(host) broke off before its end."
        case .httpResponseHeaderSectionSize, .httpResponseHeaderSize:
            "The response of \(host) has a larger header than `limits.header_bytes` allows, or "
                + "more fields than \(Limits.responseFields) and than `limits.header_fields` "
                + "allows."
        case .httpResponseBodySize:
            "The response of \(host) is larger than `limits.body` allows."
        case .httpResponseTrailerSectionSize, .httpResponseTrailerSize:
            "The response of \(host) has larger trailers than `limits.trailer_bytes` allows."
        case .httpResponseTransferCoding:
            "\(host) sent a body whose end cannot be told (transfer coding)."
        case .httpResponseContentCoding:
            "\(host) sent a body that cannot be decoded (content coding)."
        case .httpResponseTimeout:
            "\(host) took the request and did not answer in time."
        case .httpUpgradeFailed:
            "\(host) did not switch protocols as the client asked, or did so unasked."
        default:
            "\(host) sent something that is not valid HTTP."
        }
    }

    private static func requestErrorSentence(_ status: UInt16) -> String {
        switch status {
        case 404: "The request was meant for a web server, and came to lupin itself."
        case 405: "The method is not allowed here."
        case 408: "The request did not arrive in time."
        case 413: "The request body is larger than `limits.body` allows."
        case 414: "The URL of the request is longer than `limits.request_line` allows."
        case 417: "The request expects something lupin does not know; only 100-continue is known."
        case 429: "lupin has too much to do for this client: try again in a moment."
        case 431:
            "The request has larger header fields than `limits.header_bytes` "
                + "or more than `limits.header_fields` allow."
        case 501: "The request asks for something that lupin does not know how to do."
        case 505: "The request uses an HTTP version that lupin does not speak here."
        default: "The request is not valid HTTP: it was not passed on, or not in whole."
        }
    }

    private static func requestDeniedSentence(_ host: String, _ status: UInt16) -> String {
        switch status {
        case 407: "lupin wants to know who asks: put user and password into the proxy setting."
        case 421: "A request for another host came through a connection made for \(host)."
        default: "lupin does not allow this request for \(host)."
        }
    }
}
