// Checks that a request body reaches the rate of `timeouts.min_rate`.
import LupinCore
import LupinUpstream

/// Checks an upload once per window; off by default, since gRPC streams and pipes may be idle.
struct UploadRate {
    /// `timeouts.min_rate` is an average over 30 s.
    static let windowMicroseconds: UInt64 = 30_000_000

    private let bytesPerWindow: UInt64?
    private var windowEnd: UInt64
    private var bytesAtStart: UInt64 = 0

    init(_ bytesPerSecond: Int?, now: UInt64) {
        bytesPerWindow = bytesPerSecond.map { UInt64($0) &* 30 }
        windowEnd = now &+ Self.windowMicroseconds
    }

    /// When to check next; never while nothing is uploaded.
    func deadline(_ upload: BodyRelay?) -> UInt64 {
        bytesPerWindow != nil && upload?.isOver == false ? windowEnd : .max
    }

    /// - Throws: 408 when too few bytes came within the window.
    mutating func check(_ upload: BodyRelay?, now: UInt64) throws(LupinError) {
        guard let bytesPerWindow, now >= windowEnd else { return }
        if let upload, !upload.isOver, upload.bytes &- bytesAtStart < bytesPerWindow {
            throw .request(
                status: 408,
                detail: "The request body came slower than timeouts.min_rate."
            )
        }
        bytesAtStart = upload?.bytes ?? 0
        windowEnd = now &+ Self.windowMicroseconds
    }
}
