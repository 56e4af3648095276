// What the file says of captured exchanges: how much of them is kept, for how long, and where.

/// The keys of `capture` and their defaults.
///
/// They give the capture room; a rule's `capture` turns it on.
package struct CaptureSettings: Sendable, Equatable {
    /// The bytes of each body that are kept, its content coding undone.
    package var bodyBytes = 1 << 20
    package var keep = Duration.seconds(86_400)
    /// The size of the file beyond which the oldest exchanges are dropped.
    package var diskBytes = 1 << 30
    /// The folder of the file; nil is `lupin/capture` below the one for states.
    package var path: String?
    /// The bytes that may wait for the thread that writes; beyond it, bodies are cut short.
    package var queueBytes = 16 << 20

    package init() {}

    /// Where the file lies: in `path`, or in `lupin/capture` below `$XDG_STATE_HOME`, else
    /// `~/.local/state`.
    ///
    /// - Parameters:
    ///   - environment: The process's; a relative `XDG_STATE_HOME` is ignored, as its specification
    ///     demands.
    ///   - home: The user's.
    /// - Returns: nil where nothing says it.
    package func folder(environment: [String: String], home: String?) -> String? {
        path ?? Self.defaultFolder(environment: environment, home: home)
    }

    /// Where the file lies unless the settings say otherwise.
    package static func defaultFolder(environment: [String: String], home: String?) -> String? {
        if let base = environment["XDG_STATE_HOME"], base.hasPrefix("/") {
            return "\(base)/lupin/capture"
        }
        return home.map { "\($0)/.local/state/lupin/capture" }
    }
}

/// `capture` of a rule.
package enum CaptureRule: Sendable, Equatable {
    case off
    /// nil inherits `capture.bodies`.
    case on(bodyBytes: Int?)
}
