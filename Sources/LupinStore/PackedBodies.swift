// The short bodies of an exchange, in its own row.

import LupinCore

/// Bodies with their content as one value: a row of its own would cost more than a short body.
///
/// A body is four numbers and five texts, as `PackedReader` reads them.
enum PackedBodies {
    static func bytes(_ bodies: [CapturedBody]) -> [UInt8] {
        var bytes: [UInt8] = []
        if bodies.isEmpty { return bytes }
        // Bounded: contents are, and with them their sum.
        var size = 0
        for i in bodies.indices { size += bodies[i].content.count + reservedBytes }
        bytes.reserveCapacity(size)
        for i in bodies.indices { add(bodies[i], to: &bytes) }
        return bytes
    }

    private static func add(_ body: CapturedBody, to bytes: inout [UInt8]) {
        bytes.append(packed: body.side)
        bytes.append(packed: Int(body.bytes))
        bytes.append(packed: Int(body.kept))
        add(body.truncated, to: &bytes)
        add(body.type, to: &bytes)
        add(body.coding, to: &bytes)
        add(body.withheld, to: &bytes)
        bytes.append(packed: body.content.count)
        bytes += body.content
    }

    private static func add(_ text: String, to bytes: inout [UInt8]) {
        // Most are empty.
        if text.isEmpty { return bytes.append(0) }
        bytes.append(packed: text.utf8Span.span)
    }

    /// What there is besides a content, mostly.
    private static let reservedBytes = 64

    /// nil for bytes that are none.
    static func bodies(in bytes: [UInt8]) -> [CapturedBody]? {
        var reader = PackedReader(bytes)
        var bodies: [CapturedBody] = []
        while let side = reader.number() {
            guard let transferred = reader.number(), let kept = reader.number(),
                let truncated = reader.text(), let type = reader.text(),
                let coding = reader.text(), let withheld = reader.text(),
                let content = reader.text()
            else { return nil }
            var body = CapturedBody(side: side)
            (body.bytes, body.kept) = (Int64(transferred), Int64(kept))
            body.truncated = String(decoding: bytes[truncated], as: UTF8.self)
            body.type = String(decoding: bytes[type], as: UTF8.self)
            body.coding = String(decoding: bytes[coding], as: UTF8.self)
            body.withheld = String(decoding: bytes[withheld], as: UTF8.self)
            body.content = Array(bytes[content])
            bodies.append(body)
        }
        return bodies
    }
}
