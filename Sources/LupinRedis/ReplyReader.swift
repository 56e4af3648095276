// Reads the replies of a server from bytes as they come, by hiredis' reader.

import CHiredis

/// Turns bytes into replies, wherever they are cut.
@safe
package struct ReplyReader: ~Copyable {
    // Safety: made in init, freed in deinit, and never given away.
    private let reader: UnsafeMutablePointer<redisReader>
    private let bytesMax: Int
    private var isBroken = false
    /// Bytes since the end of the last reply: elements of a list that has no end count, too.
    private var unfinished = 0

    /// The largest list that lupin asks for: the ranges of a cluster's slots.
    private static let elementsMax = Int(HIREDIS_ELEMENTS_MAX)

    /// - Parameter bytesMax: The bytes of one reply that may be held.
    /// - Throws: `memory`.
    package init(bytesMax: Int) throws(RedisProblem) {
        // Safety: the call has no conditions.
        guard let reader = unsafe redisReaderCreate() else { throw .memory }
        unsafe self.reader = reader
        // A server may announce more elements than there is memory for.
        unsafe hiredis_limit_lists(reader)
        self.bytesMax = bytesMax
    }

    deinit { unsafe redisReaderFree(reader) }

    /// Takes bytes of the server.
    ///
    /// - Throws: `tooLong` when more than `bytesMax` bytes wait to become a reply, `memory`.
    package mutating func feed(_ bytes: Span<UInt8>) throws(RedisProblem) {
        // A feed may end one reply and hold many more.
        guard !isBroken, unfinished + bytes.count <= max(bytesMax, bytes.count) else {
            throw .tooLong
        }
        unfinished += bytes.count
        // Safety: hiredis copies the bytes of the span.
        let code = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe redisReaderFeed(reader, bytes.baseAddress, bytes.count)
        }
        if code != REDIS_OK { throw fail() }
    }

    /// The next reply; nil when its end has not come yet.
    ///
    /// - Throws: `malformed` or `memory`; then no reply follows.
    package mutating func next() throws(RedisProblem) -> RedisReply? {
        if isBroken { throw .malformed("the reader has stopped") }
        var found: UnsafeMutableRawPointer?
        // Safety: hiredis sets `found` to a reply that is ours, or leaves it.
        let code = unsafe redisReaderGetReply(reader, &found)
        guard code == REDIS_OK else { throw fail() }
        guard let reply = unsafe found else { return nil }
        unfinished = heldCount
        defer { unsafe freeReplyObject(reply) }
        // Safety: the reader's default functions make redisReply structures.
        return unsafe convert(reply.assumingMemoryBound(to: redisReply.self).pointee)
    }

    /// Bytes that are not part of a finished reply.
    private var heldCount: Int {
        // Safety: the reader is alive.
        unsafe reader.pointee.len - reader.pointee.pos
    }

    private mutating func fail() -> RedisProblem {
        isBroken = true
        // Safety: the reader is alive; `errstr` is a NUL-terminated array inside of it.
        if unsafe reader.pointee.err == REDIS_ERR_OOM { return .memory }
        let text = unsafe withUnsafeBytes(of: reader.pointee.errstr) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return .malformed(text)
    }

    /// Copies a reply; lists are nested seven deep at most, as hiredis refuses more.
    @unsafe
    private func convert(_ reply: redisReply) -> RedisReply {
        switch unsafe reply.type {
        case REDIS_REPLY_INTEGER: return unsafe .integer(reply.integer)
        case REDIS_REPLY_STRING: return unsafe .text(bytes(of: reply))
        case REDIS_REPLY_STATUS:
            return unsafe .status(String(decoding: bytes(of: reply), as: UTF8.self))
        case REDIS_REPLY_ERROR:
            return unsafe .failure(String(decoding: bytes(of: reply), as: UTF8.self))
        case REDIS_REPLY_ARRAY:
            var list: [RedisReply] = []
            let count = unsafe min(Int(clamping: reply.elements), Self.elementsMax)
            for i in 0..<count {
                // Safety: hiredis made `elements` of them.
                guard let element = unsafe reply.element?[i] else { continue }
                unsafe list.append(convert(element.pointee))
            }
            return .list(list)
        default: return .nothing
        }
    }

    @unsafe
    private func bytes(of reply: redisReply) -> [UInt8] {
        guard let text = unsafe reply.str else { return [] }
        let count = unsafe Int(clamping: reply.len)
        // Safety: `len` bytes stand at `str`.
        let buffer = unsafe UnsafeRawBufferPointer(start: text, count: count)
        return unsafe [UInt8](buffer)
    }
}
