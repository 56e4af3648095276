// Reads the replies of a server from bytes as they come, by hiredis' reader.

import CHiredis

/// Turns bytes into replies, wherever they are cut.
@safe
package struct ReplyReader: ~Copyable {
    // Safety: made in init, freed in deinit, and never given away.
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    /// Alive as long as the reader, which knows it without a reference.
    private let builder = ReplyBuilder()
    private let bytesMax: Int
    private var isBroken = false
    /// Bytes since the end of the last reply: elements of a list that has no end count, too.
    private var unfinished = 0

    /// - Parameter bytesMax: The bytes of one reply that may be held.
    /// - Throws: `memory`.
    package init(bytesMax: Int) throws(RedisProblem) {
        // Safety: the functions are freed after the reader.
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        unsafe functions.initialize(to: ReplyBuilder.functions)
        guard let reader = unsafe redisReaderCreateWithFunctions(functions) else {
            unsafe functions.deallocate()
            throw .memory
        }
        unsafe reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
        unsafe self.reader = reader
        unsafe self.functions = functions
        self.bytesMax = bytesMax
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe functions.deallocate()
    }

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
        var mark: UnsafeMutableRawPointer?
        // Safety: hiredis sets `mark` to what a function of the builder gave, or leaves it.
        let code = unsafe redisReaderGetReply(reader, &mark)
        guard code == REDIS_OK else { throw fail() }
        if unsafe mark == nil { return nil }
        unfinished = heldCount
        guard let reply = builder.takeReply() else {
            isBroken = true
            throw .malformed("a type of a later protocol")
        }
        return reply
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
}
