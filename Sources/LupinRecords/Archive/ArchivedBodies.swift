// What an HTTP Archive shows of the bodies and messages of an exchange.

package import LupinCore

/// A body, without its content codings.
package struct ArchivedBody: Sendable, Equatable {
    /// As transferred.
    package var bytes: UInt64
    package var content: [UInt8]
    /// The media type; empty when unknown.
    package var type: String
    /// Why the content is not whole; empty if it is.
    package var truncated: String
    /// Why there is no content, as a sentence; empty if there is.
    package var withheld: String

    package init(
        bytes: UInt64,
        content: [UInt8],
        type: String = "",
        truncated: String = "",
        withheld: String = ""
    ) {
        self.bytes = bytes
        self.content = content
        self.type = type
        self.truncated = truncated
        self.withheld = withheld
    }
}

/// A message of a WebSocket.
package struct ArchivedMessage: Sendable, Equatable {
    /// µs since 1970.
    package var time: Int64
    package var isFromClient: Bool
    /// `text`, `binary`, `ping`, `pong` or `close`.
    package var kind: String
    package var content: [UInt8]
    package var isTruncated: Bool

    package init(
        time: Int64,
        isFromClient: Bool,
        kind: String,
        content: [UInt8],
        isTruncated: Bool = false
    ) {
        self.time = time
        self.isFromClient = isFromClient
        self.kind = kind
        self.content = content
        self.isTruncated = isTruncated
    }

    /// RFC 6455 §5.2.
    var opcode: UInt64 {
        switch kind {
        case "text": 1
        case "close": 8
        case "ping": 9
        case "pong": 10
        default: 2
        }
    }
}

/// What is captured of an exchange besides its heads.
package struct ArchivedBodies: Sendable, Equatable {
    /// As the client sent it.
    package var request: ArchivedBody?
    /// As the client got it.
    package var response: ArchivedBody?
    package var messages: [ArchivedMessage] = []

    package init() {}
}

extension JSONLine {
    /// Appends a text as it is: neither shortened nor made harmless for a terminal.
    ///
    /// `text` is valid UTF-8.
    package mutating func add(_ key: String, exact text: Span<UInt8>) {
        add(key)
        bytes.append(0x22)
        var start = 0
        for i in text.indices where text[i] < 0x20 || text[i] == 0x22 || text[i] == 0x5C {
            bytes.append(copying: text.extracting(start..<i))
            start = i + 1
            bytes.append(0x5C)
            if text[i] < 0x20 {
                bytes.append(contentsOf: "u00".utf8)
                bytes.append(hex: UInt64(text[i]), digits: 2)
            } else {
                bytes.append(text[i])
            }
        }
        bytes.append(copying: text.extracting(start..<text.count))
        bytes.append(0x22)
    }

    /// Appends the `postData` of a request.
    ///
    /// HAR 1.2 has no encoding there, so that of bytes which are no text is an extension.
    mutating func add(postData body: ArchivedBody, type: String) {
        if body.content.isEmpty, body.withheld.isEmpty, body.truncated.isEmpty { return }
        openObject("postData")
        add("mimeType", text: type)
        add(contentOf: body, type: type, encoding: "_encoding")
        closeObject()
    }

    /// Appends the members of a response's `content` that its body tells.
    ///
    /// What is of another character set than UTF-8 goes there byte by byte, lest a reader takes it
    /// for a text of that set.
    mutating func add(contentOf body: ArchivedBody, type: String, encoding: String) {
        if body.withheld.isEmpty {
            let isUTF8 =
                ArchivedText.charset(of: type) == nil || body.content.allSatisfy { $0 < 0x80 }
            if isUTF8, String(validating: body.content, as: UTF8.self) != nil {
                add("text", exact: body.content.span)
            } else {
                add("text", literal: Base64Text.encode(body.content))
                add(encoding, literal: "base64")
            }
        } else {
            add("comment", text: body.withheld)
        }
        if !body.truncated.isEmpty { add("_truncated", text: body.truncated) }
    }

    /// Appends the messages of a WebSocket, as Chromium does.
    mutating func add(webSocketMessages messages: [ArchivedMessage]) {
        if messages.isEmpty { return }
        add("_resourceType", literal: "websocket")
        add("_webSocketMessages", objects: messages) { line, message in
            line.add("type", literal: message.isFromClient ? "send" : "receive")
            line.add("time")
            // Seconds, with the digits of microseconds.
            let time = max(0, message.time)
            line.bytes.append(decimal: UInt64(time / 1_000_000))
            line.bytes.append(0x2E)
            let digits = String(time % 1_000_000)
            line.bytes.append(contentsOf: repeatElement(0x30, count: 6 - digits.utf8.count))
            line.bytes.append(contentsOf: digits.utf8)
            line.add("opcode", message.opcode)
            if message.kind == "text", String(validating: message.content, as: UTF8.self) != nil {
                line.add("data", exact: message.content.span)
            } else {
                line.add("data", literal: Base64Text.encode(message.content))
            }
            if message.isTruncated { line.add("_truncated", true) }
        }
    }
}
