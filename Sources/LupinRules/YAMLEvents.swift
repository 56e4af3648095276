// Turns a text into YAML's events by libyaml; what is wrong with the text comes as an error.

import CYAML

/// What libyaml finds wrong with a text.
enum YAMLFailure: Error, Equatable {
    /// `problem` is libyaml's sentence; `opening` is where the unfinished thing begins.
    case syntax(problem: String, location: FileLocation, opening: FileLocation?)
    /// A character that no YAML file may have.
    case forbiddenCharacter
    /// Nesting without a meaning in any file.
    case tooDeep(FileLocation)
    case outOfMemory
}

/// An event with the place where it begins.
struct YAMLEvent {
    enum Kind: Equatable {
        case streamStart, streamEnd, documentStart, documentEnd
        case alias(String)
        case scalar(String, isPlain: Bool, anchor: String?)
        case listStart(anchor: String?)
        case mapStart(anchor: String?)
        case listEnd, mapEnd
    }

    var kind: Kind
    var location: FileLocation
}

/// The events of one text.
@safe
final class YAMLEvents {
    // Safety: both are made in `init` and freed in `deinit`; the parser points into the text.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    init(_ source: String) throws(YAMLFailure) {
        unsafe text = .allocate(capacity: source.utf8.count)
        _ = unsafe text.initialize(from: source.utf8)
        unsafe parser = .allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        guard unsafe yaml_parser_initialize(parser) == 1 else { throw .outOfMemory }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe text.deallocate()
    }

    /// The next event; `streamEnd` for ever at the end.
    func next() throws(YAMLFailure) -> YAMLEvent {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure }
        // Safety: the texts of the event are copied before it is deleted.
        defer { unsafe yaml_event_delete(&event) }
        let flat = unsafe yaml_flatten(&event)
        let location = unsafe Self.location(flat.line, flat.column)
        return YAMLEvent(kind: unsafe Self.kind(flat), location: location)
    }

    private static func kind(_ flat: yaml_flat_event) -> YAMLEvent.Kind {
        let anchor = unsafe flat.anchor.map { unsafe String(cString: $0) }
        switch unsafe flat.type {
        case YAML_FLAT_STREAM_START: return .streamStart
        case YAML_FLAT_DOCUMENT_START: return .documentStart
        case YAML_FLAT_DOCUMENT_END: return .documentEnd
        case YAML_FLAT_ALIAS: return .alias(anchor ?? "")
        case YAML_FLAT_SEQUENCE_START: return .listStart(anchor: anchor)
        case YAML_FLAT_SEQUENCE_END: return .listEnd
        case YAML_FLAT_MAPPING_START: return .mapStart(anchor: anchor)
        case YAML_FLAT_MAPPING_END: return .mapEnd
        case YAML_FLAT_SCALAR:
            // Safety: the event holds `length` bytes, which are copied. They may contain NUL.
            let bytes = unsafe UnsafeBufferPointer(start: flat.text, count: flat.length)
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            return unsafe .scalar(text, isPlain: flat.is_plain != 0, anchor: anchor)
        default: return .streamEnd
        }
    }

    private static func location(_ line: Int, _ column: Int) -> FileLocation {
        FileLocation(line: line &+ 1, column: column &+ 1)
    }

    /// The parser's error.
    private var failure: YAMLFailure {
        // Safety: the parser's texts are constants of the library.
        let state = unsafe parser.pointee
        switch unsafe state.error {
        case YAML_READER_ERROR: return .forbiddenCharacter
        case YAML_MEMORY_ERROR: return .outOfMemory
        default:
            let (mark, opening) = unsafe (state.problem_mark, state.context_mark)
            return .syntax(
                problem: unsafe state.problem.map { unsafe String(cString: $0) } ?? "",
                location: Self.location(mark.line, mark.column),
                opening: unsafe state.context == nil
                    ? nil : Self.location(opening.line, opening.column)
            )
        }
    }
}
