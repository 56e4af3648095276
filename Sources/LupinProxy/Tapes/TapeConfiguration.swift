// The configurations of a proxy that records a tape, and of one that plays it.
package import LupinPolicy
import LupinRecords
import LupinUpstream

extension Configuration {
    /// The same rules, for a proxy that captures every exchange whole in `folder`.
    package func recording(in folder: String) -> Configuration {
        var copy = self
        copy.settings.capture.path = folder
        copy.settings.capture.bodyBytes = Tape.bodyBytesMax
        copy.settings.capture.keep = .seconds(365 * 86_400)
        copy.settings.capture.diskBytes = 1 << 34
        // A body that the writer can't follow would be missing on the tape.
        copy.settings.capture.queueBytes = 8 * Tape.bodyBytesMax
        copy.settings.intercept.mode = .all
        var own = Rule(name: "tape", line: 0, matches: [Match()])
        own.capture = .on(bodyBytes: nil)
        // lupin can't undo all codings, and a tape has content without them.
        own.steps = [.remove(pattern: "accept-encoding")]
        let others = rules.rules.map { rule in
            var rule = rule
            rule.capture = nil
            return rule
        }
        // The first: a rule may say that those behind it don't count.
        copy.rules = RuleSet([own] + others)
        return copy
    }

    /// A proxy that has no use for a network: no rules, parent or certificate of its own.
    ///
    /// A tape has what clients sent and got, so rules have had their say already. Tokens stay, for
    /// the stand-ins that the command has for them: without rules none of them is ever fetched.
    package var playing: Configuration {
        var copy = self
        copy.rules = RuleSet([])
        copy.settings.upstream.proxy = .direct
        copy.settings.upstream.tls.clientCertificate = nil
        copy.settings.intercept.mode = .all
        copy.settings.intercept.except = []
        return copy
    }
}
