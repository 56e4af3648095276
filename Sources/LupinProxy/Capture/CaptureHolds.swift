// Hosts that are captured while an inspector is open, and until when.

/// What open inspectors hold; confined to the control loop.
///
/// An inspector renews its hold while it runs. When it is gone, its hold ends by itself.
struct CaptureHolds {
    /// How long a hold lasts after it was renewed: browsers wake a hidden page once a minute.
    static let time = Duration.seconds(180)
    /// The maximum number of holds; another one is refused.
    static let countMax = 16
    /// The maximum length of a name.
    static let nameBytesMax = 64

    struct Hold: Sendable {
        let name: String
        var hosts: [String]
        /// By the loop's time.
        var end: UInt64
    }

    /// In the order in which they began.
    private(set) var all: [Hold] = []

    /// The hosts of all holds, each once.
    var hosts: [String] {
        var seen: Set<String> = []
        return all.flatMap(\.hosts).filter { seen.insert($0).inserted }
    }

    /// When the next one ends, unless it is renewed; nil without any.
    var nextEnd: UInt64? { all.map(\.end).min() }

    /// Begins a hold or renews it, with these hosts from now on; false where there are too many.
    mutating func renew(_ hold: Hold) -> Bool {
        if let index = all.firstIndex(where: { $0.name == hold.name }) {
            all[index] = hold
            return true
        }
        guard all.count < Self.countMax else { return false }
        all.append(hold)
        return true
    }

    mutating func end(_ name: String) { all.removeAll { $0.name == name } }

    /// Drops the holds that were not renewed; returns whether there were any.
    mutating func expire(now: UInt64) -> Bool {
        let count = all.count
        all.removeAll { $0.end <= now }
        return all.count < count
    }

    /// Whether a text can name a hold.
    static func isName(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= nameBytesMax
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
                default: false
                }
            }
    }
}
