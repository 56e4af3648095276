// What the timeouts of an exchange are once its rules have spoken.

extension Timeouts {
    /// These timeouts with those of a plan in their place, leaf by leaf.
    package func applying(_ overrides: TimeoutOverrides) -> Timeouts {
        var result = self
        if let value = overrides.minRateBytesPerSecond { result.minRateBytesPerSecond = value }
        if let value = overrides.sniff { result.sniff = value }
        if let value = overrides.expect { result.expect = value }
        if let value = overrides.dns { result.dns = value }
        if let value = overrides.connect { result.connect = value }
        if let value = overrides.tls { result.tls = value }
        if let value = overrides.responseHeader { result.responseHeader = value }
        if let value = overrides.idle { result.idle = value }
        if let value = overrides.tunnelIdle { result.tunnelIdle = value }
        if let value = overrides.total { result.total = value }
        return result
    }
}
