// How far the flow-control windows of one worker's streams may grow in total.
import LupinCore

/// How much the windows of one worker's streams have grown beyond their initial size.
package final class WindowGrowth {
    private var grown = 0

    package init() {}

    /// Reserves `bytes` more; returns false, and reserves nothing, beyond the limit.
    func reserve(_ bytes: Int) -> Bool {
        guard grown + bytes <= HTTP2Window.autoWorkerBytesMax else { return false }
        grown += bytes
        return true
    }

    func release(_ bytes: Int) { grown -= bytes }
}
