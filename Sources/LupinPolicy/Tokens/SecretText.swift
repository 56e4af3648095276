// A text protected against disclosure: parts known at load, and files read when used.

import LupinCore

/// A secret of the rules file.
///
/// It prints as `SecretText`: neither a log line nor a debugger's dump of its container shows the
/// content.
package struct SecretText: Sendable, Hashable {
    package enum Part: Sendable, Hashable {
        /// Written in the rules file, or resolved when the file was loaded.
        case text(String)
        /// `${file:P}`: read when used, and again when the file has changed.
        case file(path: String)
    }

    package var parts: [Part]

    package init(_ parts: [Part]) { self.parts = parts }
    package init(_ text: String) { parts = [.text(text)] }

    /// The files to read, in order.
    package var paths: [String] {
        parts.compactMap { part in
            if case .file(let path) = part { path } else { nil }
        }
    }

    /// The text, if it has no file parts.
    package var constant: String? {
        var result = ""
        for part in parts {
            guard case .text(let text) = part else { return nil }
            result += text
        }
        return result
    }

    /// The whole text.
    ///
    /// - Parameter content: Returns the current bytes of a file.
    /// - Returns: Its parts joined.
    /// - Throws: Errors of `content`, and `.file` if a file is not text.
    package func text(
        _ content: (_ path: String) throws(TokenFailure) -> [UInt8]
    ) throws(TokenFailure) -> String {
        var result = ""
        for part in parts {
            switch part {
            case .text(let text):
                result += text
            case .file(let path):
                guard let text = SecretText.text(ofFile: try content(path)) else {
                    throw TokenFailure(.file(path: path, reason: "it is not UTF-8 text"))
                }
                result += text
            }
        }
        return result
    }

    /// The text of a secret file without a byte order mark and one trailing newline; nil when it is
    /// not UTF-8.
    package static func text(ofFile bytes: [UInt8]) -> String? {
        var content = bytes[bytes.span.byteOrderMark...]
        if content.last == 0x0A { content.removeLast() }
        if content.endIndex < bytes.count, content.last == 0x0D { content.removeLast() }
        return String(validating: content, as: UTF8.self)
    }
}

/// A type that contains a secret and so prints only its own name.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension Concealed {
    /// The name of the type.
    package var description: String { "\(Self.self)" }
    /// The name of the type.
    package var debugDescription: String { description }
    /// No children, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretText: Concealed {}
extension SecretText.Part: Concealed {}
