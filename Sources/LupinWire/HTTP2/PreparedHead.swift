// A head that goes out on one stream after another: made once what nghttp2 takes of it.
import CNghttp2
package import LupinCore

/// The fields of a request without a body, or of a response, as they are submitted.
///
/// Their only Date can be replaced by another one; nothing else changes.
@safe
package final class PreparedHead {
    // Safety: allocated and freed here; the pairs point into `text`. nghttp2 copies their list, but
    // neither names nor values: who lends them keeps this alive until they were sent.
    private let pairs: UnsafeMutableBufferPointer<nghttp2_nv>
    private let text: UnsafeMutableBufferPointer<UInt8>
    /// Where the value of the only Date stands, if it has the length of IMF-fixdate.
    private let date: Range<Int>?
    /// A body follows, if only an empty one.
    package let hasBody: Bool
    package let method: Method

    /// Bytes of an IMF-fixdate (RFC 9110 §5.6.7).
    private static let dateBytes = 29
    private static let dateName = "date"
    private static let isShared = UInt8(
        NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
    )

    /// A request for which nothing but its head is sent.
    package convenience init(_ head: borrowing RequestHead, _ options: borrowing RequestOptions) {
        var copy = Copy()
        _ = unsafe HTTP2FieldWriter().request(head, options, protocolName: nil) {
            unsafe copy.take($0)
        }
        self.init(copy, hasBody: false, to: head.method)
    }

    /// A final response.
    package convenience init(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        hasBody: Bool
    ) {
        var copy = Copy()
        _ = unsafe HTTP2FieldWriter().response(head, options) { unsafe copy.take($0) }
        self.init(copy, hasBody: hasBody, to: .get)
    }

    private init(_ copy: Copy, hasBody: Bool, to method: Method) {
        self.hasBody = hasBody
        self.method = method
        unsafe text = .allocate(capacity: copy.text.count)
        unsafe pairs = .allocate(capacity: copy.fields.count)
        _ = unsafe text.initialize(from: copy.text)
        var dates: [Range<Int>] = []
        for (i, field) in copy.fields.enumerated() {
            let name = unsafe text.extracting(field.name)
            let value = unsafe text.extracting(field.value)
            unsafe pairs.initializeElement(
                at: i,
                to: nghttp2_nv(
                    name: name.baseAddress,
                    value: value.baseAddress,
                    namelen: name.count,
                    valuelen: value.count,
                    flags: field.flags
                )
            )
            if unsafe Span(_unsafeElements: name).equalsIgnoringCase(Self.dateName.utf8.span) {
                dates.append(field.value)
            }
        }
        date = dates.count == 1 && dates[0].count == Self.dateBytes ? dates[0] : nil
    }

    deinit {
        unsafe pairs.deallocate()
        unsafe text.deallocate()
    }

    /// How long names and values are together.
    package var count: Int { unsafe text.count }

    /// Whether it has one Date that can be replaced.
    package var isDated: Bool { date != nil }

    /// Has it say another Date of the same length.
    package func set(date new: Span<UInt8>) {
        guard let date, new.count == date.count else { return }
        // Safety: the place lies in `text`. Who sends answers sends them whole at once, so nobody
        // reads there meanwhile.
        for i in 0..<date.count { unsafe text[date.lowerBound + i] = new[i] }
    }

    /// Hands nghttp2's list of the fields to `submit`, which does not copy what it leads to.
    func lend(_ submit: HTTP2FieldWriter.Submit) -> Int32 {
        unsafe submit(UnsafeBufferPointer(pairs))
    }

    /// What a writer lends, with places instead of pointers.
    private struct Copy {
        struct Field {
            let name: Range<Int>
            let value: Range<Int>
            let flags: UInt8
        }

        var text: [UInt8] = []
        var fields: [Field] = []

        mutating func take(_ list: UnsafeBufferPointer<nghttp2_nv>) -> Int32 {
            for i in 0..<list.count {
                let pair = unsafe list[i]
                // Where nghttp2 copies no names it does not make them lower-case either.
                let name = unsafe append(pair.name, pair.namelen, isLowered: true)
                let value = unsafe append(pair.value, pair.valuelen)
                unsafe fields.append(
                    Field(name: name, value: value, flags: pair.flags | PreparedHead.isShared)
                )
            }
            return 0
        }

        private mutating func append(
            _ bytes: UnsafePointer<UInt8>?,
            _ count: Int,
            isLowered: Bool = false
        ) -> Range<Int> {
            let start = text.count
            unsafe text.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            if isLowered {
                for i in start..<text.count { text[i] = text[i].asciiLowercased }
            }
            return start..<text.count
        }
    }
}
