// The timeouts of a snapshot or of an exchange, in the unit of the loop's clock.
import LupinIO
package import LupinPolicy
import LupinUpstream

/// The timeouts of lupin's waits, in microseconds.
///
/// `Duration` keeps attoseconds in 128 bits: turning one into microseconds costs 270 instructions,
/// and every request needs a few. A class, because every exchange holds them.
package final class LoopTimeouts: Sendable {
    let clientIdle: UInt64
    let clientHeader: UInt64
    let sniff: UInt64
    let expect: UInt64
    let dns: UInt64
    let connect: UInt64
    let tls: UInt64
    let responseHeader: UInt64
    let idle: UInt64
    let tunnelIdle: UInt64
    /// nil means `none`.
    let total: UInt64?
    /// The minimum rate of a request body in bytes per second; nil means off.
    let minRateBytesPerSecond: Int?
    /// No timeout of an exchange can expire before `taskDelayMax`, when it has a task for certain.
    let hasLongTimeouts: Bool

    package init(_ timeouts: Timeouts) {
        clientIdle = timeouts.clientIdle.microseconds
        clientHeader = timeouts.clientHeader.microseconds
        sniff = timeouts.sniff.microseconds
        expect = timeouts.expect.microseconds
        dns = timeouts.dns.microseconds
        connect = timeouts.connect.microseconds
        tls = timeouts.tls.microseconds
        responseHeader = timeouts.responseHeader.microseconds
        idle = timeouts.idle.microseconds
        tunnelIdle = timeouts.tunnelIdle.microseconds
        total = timeouts.total?.microseconds
        minRateBytesPerSecond = timeouts.minRateBytesPerSecond
        hasLongTimeouts = min(responseHeader, idle, total ?? .max) >= Self.taskDelayMax
    }

    /// Those of the steps to a connection.
    var connecting: ConnectTimeouts { ConnectTimeouts(dns: dns, connect: connect, tls: tls) }

    /// Microseconds after which an exchange that began without a task is certain to have one.
    static let taskDelayMax: UInt64 = 200_000
}
