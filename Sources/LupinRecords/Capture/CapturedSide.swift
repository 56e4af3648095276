// The four messages of an exchange that a capture tells apart.

/// A message of an exchange, as one side has it.
package enum CapturedSide: Int, Sendable, CaseIterable {
    /// The request as the client sent it.
    case request
    /// The request as it went to the origin.
    case sent
    /// The response as the origin sent it.
    case received
    /// The response as the client got it.
    case response

    /// How many there are.
    static let count = allCases.count

    /// The word of the admin interface.
    package var word: String {
        switch self {
        case .request: "request"
        case .sent: "sent"
        case .received: "received"
        case .response: "response"
        }
    }

    /// Whether it is the client's message.
    package var isRequest: Bool { self == .request || self == .sent }

    /// Whether it is the message as the client has it.
    package var isOfClient: Bool { self == .request || self == .response }

    package init?(word: some StringProtocol) {
        guard let side = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = side
    }
}

/// A value for each message of an exchange, by the side's raw value.
package typealias BySide<Value> = InlineArray<4, Value>

/// Why a captured body is not whole; the raw value is the word of the admin interface.
package enum CaptureLoss: String, Sendable {
    /// It is longer than `capture.bodies`.
    case limit
    /// The writer was behind.
    case writer
    /// Its content coding could not be undone up to the end.
    case coding
    /// A value to hide in it was too long to be masked.
    case mask
    /// The exchange broke off.
    case end
}
