// A text that nobody may read by accident: parts known at load, and files read when they are used.

/// A secret of the rules file.
///
/// However it is printed, it says `SecretText`: neither a log line nor a debugger's dump of what
/// holds it shows the content.
package struct SecretText: Sendable, Hashable {
    package enum Part: Sendable, Hashable {
        /// Written in the file, or resolved when the file was loaded.
        case text(String)
        /// `${file:P}`: read when it is used, and again when the file has changed.
        case file(path: String)
    }

    package var parts: [Part]

    package init(_ parts: [Part]) { self.parts = parts }
    package init(_ text: String) { parts = [.text(text)] }

    /// The files that have to be read, in order.
    package var paths: [String] {
        parts.compactMap { part in
            if case .file(let path) = part { path } else { nil }
        }
    }

    /// The text where no file is part of it.
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
    /// - Parameter content: The bytes of a file, as they are now.
    /// - Returns: Its parts in one.
    /// - Throws: What `content` throws, and `.file` where a file is not text.
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

    /// What a secret file says: its text without one trailing newline; nil when it is not UTF-8.
    package static func text(ofFile bytes: [UInt8]) -> String? {
        var content = bytes[...]
        if content.last == 0x0A { content.removeLast() }
        if content.count < bytes.count, content.last == 0x0D { content.removeLast() }
        return String(validating: content, as: UTF8.self)
    }
}

/// What holds a secret and so prints only its own name.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension Concealed {
    /// The name of the type.
    package var description: String { "\(Self.self)" }
    /// The name of the type.
    package var debugDescription: String { description }
    /// Nothing, so that `dump` has nothing to walk through.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretText: Concealed {}
extension SecretText.Part: Concealed {}
