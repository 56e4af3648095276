// Errors that end waits and transfers of every kind.
package import LupinCore

extension LupinError {
    /// The client left: no response can be sent.
    package static let clientGone = LupinError(
        .httpRequestError,
        detail: "The client closed the connection.",
        retry: .never
    )

    /// Something that the rules file demands is unavailable.
    package static func configuration(_ detail: String) -> LupinError {
        LupinError(.proxyConfigurationError, detail: detail, side: .config)
    }

    package static let bodyTooLong = LupinError.request(
        status: 413,
        detail: "The request body is longer than limits.body allows."
    )

    /// The drain time is over.
    package static let stopping = LupinError(
        .connectionTerminated,
        detail: "lupin is stopping.",
        side: .lupin,
        retry: .never,
        status: 503
    )
}
