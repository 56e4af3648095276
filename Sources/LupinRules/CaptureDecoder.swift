// Decodes `capture:` of a rule: whether bodies are kept, and how much of them.

import LupinPolicy

extension DecodingContext {
    /// Decodes `true`, `false`, or `{bodies: SIZE}`; returns nil after reporting a problem.
    func capture(_ node: YAMLNode) -> CaptureRule? {
        guard case .map(let entries) = node.content else {
            return boolean(node).map { $0 ? .on(bodyBytes: nil) : .off }
        }
        var bodyBytes: Int?
        let isComplete = every(entries, in: "capture", known: ["bodies"]) { entry in
            guard let setting = SettingsTable.setting("capture.bodies"),
                let value = size(entry.value, setting)
            else { return false }
            bodyBytes = value
            return true
        }
        return isComplete ? .on(bodyBytes: bodyBytes) : nil
    }

    /// Decodes the folder of captured bodies; nil inside is the default.
    func captureFolder(_ node: YAMLNode, _ setting: Setting) -> String?? {
        let usual = CaptureSettings.defaultFolder(
            environment: surroundings.environment,
            home: surroundings.home
        )
        return folder(node, setting, usual: usual)
    }
}
