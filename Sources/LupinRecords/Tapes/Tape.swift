// What a tape answers a request with, and why it has no answer.

package import LupinCore
package import LupinPolicy

/// A request that is to be answered from a tape.
package struct TapeRequest: Sendable {
    package var method: String
    package var origin: Origin
    /// Path and query.
    package var target: String
    package var fields: [ArchivedExchange.Field]
    /// Without its content codings.
    package var body: [UInt8]

    package init(
        method: String,
        origin: Origin,
        target: String,
        fields: [ArchivedExchange.Field] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.origin = origin
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The request as `METHOD URL`.
    package var text: String { "\(method) \(origin.scheme.name)://\(origin.authority)\(target)" }

    /// The request as a tape has it, with masks in place of secrets.
    package func masked(by redactor: Redactor) -> TapeRequest {
        var masked = self
        masked.target = redactor.cleaned(target)
        for (index, field) in fields.enumerated() {
            let value = field.value.utf8Span.span
            let isHidden = redactor.hides(field: field.name.utf8Span.span, value, known: .other)
            masked.fields[index].value =
                isHidden
                ? String(decoding: redactor.mark(for: value), as: UTF8.self)
                : redactor.cleaned(field.value)
        }
        var mask = BodyMask(BodySecrets(redactor))
        masked.body = []
        mask.mask(body, isLast: true, into: &masked.body)
        return masked
    }
}

/// The recorded exchanges of a command, in their order.
package struct Tape: Sendable {
    /// A recorded exchange, with what of its request is compared.
    package struct Entry: Sendable {
        package let exchange: ArchivedExchange
        let request: TapePattern
    }

    package let entries: [Entry]
    private let parts: ComparedParts

    /// The longest body on a tape.
    ///
    /// A longer one is not recorded, and a request with one matches no entry.
    package static let bodyBytesMax = 32 << 20

    /// Reads a tape from an HTTP Archive.
    ///
    /// Entries without a response, or with the URL of neither http nor https, are left out.
    /// - Throws: Why it is no archive.
    package init(_ archive: Span<UInt8>, _ settings: TapeSettings) throws(ArchiveProblem) {
        let parts = ComparedParts(settings)
        var entries: [Entry] = []
        try ArchiveReader.read(archive) { exchange throws(ArchiveProblem) in
            guard exchange.status >= 200, exchange.method != "CONNECT",
                let pattern = TapePattern(exchange, parts)
            else { return }
            entries.append(Entry(exchange: exchange, request: pattern))
        }
        self.entries = entries
        self.parts = parts
    }

    /// The entry that answers a request: the first that fits and was not played yet, else the last
    /// that fits; nil if none fits.
    ///
    /// `played` are the entries that were played.
    package func entry(for request: TapeRequest, played: Set<Int>) -> Int? {
        let asked = ComparedRequest(request, parts)
        var last: Int?
        for (index, entry) in entries.enumerated()
        where entry.request.fits(asked) {
            if !played.contains(index) { return index }
            last = index
        }
        return last
    }

    /// What a request that fits no entry is told: the nearest one, and what differs.
    ///
    /// The request is quoted, so what is secret in it must be masked.
    package func miss(of request: TapeRequest) -> TapeMiss {
        let asked = ComparedRequest(request, parts)
        var best: (entry: Entry, nearness: Int)?
        for entry in entries {
            let nearness = entry.request.nearness(to: asked)
            if nearness > best?.nearness ?? -1 { best = (entry, nearness) }
        }
        return TapeMiss(
            request: LogText.plain(request.text),
            count: entries.count,
            nearest: best.map {
                LogText.plain("\($0.entry.exchange.method) \($0.entry.exchange.url)")
            },
            differences: best?.entry.request.differences(from: asked) ?? []
        )
    }
}

/// Why a tape has no answer, in texts that are escaped.
package struct TapeMiss: Sendable, Equatable {
    package var request: String
    /// The requests on the tape.
    package var count: Int
    /// The nearest of them; nil if there is none.
    package var nearest: String?
    /// A line for each part that differs.
    package var differences: [String]

    /// What is said to the client.
    package var text: String {
        var lines = ["This request is not on the tape:", "", "  \(request)", ""]
        if let nearest {
            lines += [
                count == 1 ? "The only one there:" : "The nearest of the \(count) there:", "",
            ]
            lines += ["  \(nearest)", "", "What differs:", ""]
            lines += differences.map { "  \($0)" }
        } else {
            lines.append("The tape has no requests.")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The same in a line, without what stood in bodies and fields.
    package var sentence: String {
        guard nearest != nil else { return "The request is not on the tape, which is empty." }
        let kinds = differences.compactMap { $0.split(separator: ":").first.map(String.init) }
        return "The request is not on the tape; the nearest one differs in: "
            + "\(kinds.joined(separator: ", "))."
    }
}
