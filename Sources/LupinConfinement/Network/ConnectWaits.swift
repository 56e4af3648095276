// The calls of connect(2) that wait until a listener has room, and how often they are tried.

import LupinIO

/// A call of connect(2), as it was when it was taken.
struct ConnectCall: Sendable {
    /// What a call waits for: those of one line come one after the other.
    enum Line: Hashable {
        /// A listener with a path.
        case file(ConnectWatch.FileIdentity)
        /// A connection that was begun, by the number of its call.
        case own(UInt64)
    }

    /// The kernel's number of it.
    let id: UInt64
    let thread: UInt32
    let process: Int32
    /// The descriptor of the socket, in the process.
    let number: Int32
    let address: [UInt8]
}

/// A call that waits.
struct WaitingCall {
    let call: ConnectCall
    var line: ConnectCall.Line
    /// Both in microseconds of monotonic time.
    let since: UInt64
    let until: UInt64
}

/// All calls that wait, in the order in which they came.
///
/// They hold no descriptor: as many threads as a command has may wait at a time.
struct WaitingCalls: ~Copyable {
    var calls: [WaitingCall] = []
    /// Tries them while there are any.
    var thread: HelperThread?
}

/// The time between two attempts.
package struct ConnectPause {
    private static let longest: Int32 = 50

    package private(set) var milliseconds: Int32 = 1

    package init() {}

    /// Begins anew when calls came or ended, and else doubles, up to 50 ms.
    ///
    /// Attempts take a tenth of the time at most.
    ///
    /// - Parameters:
    ///   - took: What the last ones took, in microseconds.
    ///   - isNews: Whether calls came or ended.
    package mutating func grow(after took: UInt64, isNews: Bool) {
        let usual = isNews ? 1 : min(min(milliseconds, Self.longest) * 2, Self.longest)
        milliseconds = max(usual, Int32(clamping: took / 100))
    }
}
