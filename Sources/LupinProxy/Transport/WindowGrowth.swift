// How far the flow-control windows of one worker may grow together.
import LupinCore

/// How much the windows of one worker's streams have grown beyond where they began.
final class WindowGrowth {
    private var grown = 0

    /// Whether `bytes` more may be promised; if so they are counted.
    func reserve(_ bytes: Int) -> Bool {
        guard grown + bytes <= HTTP2Window.autoWorkerBytesMax else { return false }
        grown += bytes
        return true
    }

    func release(_ bytes: Int) { grown -= bytes }
}
