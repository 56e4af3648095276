// What one run of one job cost one proxy.

/// The figures of one cell; what a job doesn't tell is absent.
struct Measurement: Codable {
    var proxy: String
    var scenario: Scenario
    var run: Int
    /// Why there are no figures.
    var failure: String?
    /// Correct responses in the window.
    var requests: Int?
    var requestsPerSecond: Double?
    var megabytesPerSecond: Double?
    /// Processor time of the proxy's processes for a request; for long bodies, for so many bytes.
    var userUsPerRequest: Double?
    var systemUsPerRequest: Double?
    var gigabytesPerCPUSecond: Double?
    var p50Us: Double?
    var p99Us: Double?
    var p999Us: Double?
    /// Of its own processor.
    var proxyCPUPercent: Double?
    /// What processes that aren't ours used, of one processor.
    var othersCPUPercent: Double?
    var peakMemoryKiB: Double?
    var kibPerIdleConnection: Double?
    var errors: Int?
    var firstError: String?
    var reconnects: Int?

    var cpuUsPerRequest: Double? {
        guard let user = userUsPerRequest, let system = systemUsPerRequest else { return nil }
        return user + system
    }
}
