// Makes replies of what hiredis' reader finds, in the order of the bytes.

import CHiredis

/// The reply that a reader is reading.
///
/// hiredis tells of every value once, and of a list before its elements. Its own objects would be
/// one more copy of everything.
final class ReplyBuilder {
    private struct List {
        var elements: [RedisReply] = []
        let count: Int
    }

    /// Lists whose elements are still to come, the outermost first; seven at most, as hiredis
    /// refuses more.
    private var lists: [List] = []
    private var reply: RedisReply?

    /// The longest list that lupin asks for: the ranges of a cluster's slots.
    private static let elementsMax = 65536

    /// The reply, once it is whole.
    func takeReply() -> RedisReply? { lists.isEmpty ? reply.take() : nil }

    private func add(_ value: RedisReply) {
        var value = value
        while var list = lists.popLast() {
            list.elements.append(value)
            if list.elements.count < list.count { return lists.append(list) }
            value = .list(list.elements)
        }
        reply = value
    }

    /// - Returns: Whether a list may be so long.
    private func begin(_ count: Int) -> Bool {
        // A server may announce more elements than there is memory for.
        guard (0...Self.elementsMax).contains(count) else { return false }
        if count == 0 { add(.list([])) } else { lists.append(List(count: count)) }
        return true
    }

    // MARK: What hiredis calls

    /// The functions of a reader whose `privdata` is a builder.
    ///
    /// What they return stands for an object; only a list that is refused has none.
    @unsafe static var functions: redisReplyObjectFunctions {
        var functions = redisReplyObjectFunctions()
        unsafe functions.createString = { task, text, count in
            // Safety: `count` bytes stand at `text` during the call.
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
            return unsafe mark(task) { builder in
                unsafe builder.add(ReplyBuilder.reply(bytes, task?.pointee.type))
            }
        }
        unsafe functions.createArray = { task, count in
            var isTaken = false
            let mark = unsafe mark(task) { isTaken = $0.begin(Int(clamping: count)) }
            return unsafe isTaken ? mark : nil
        }
        unsafe functions.createInteger = { task, number in
            unsafe mark(task) { $0.add(.integer(number)) }
        }
        unsafe functions.createNil = { task in unsafe mark(task) { $0.add(.nothing) } }
        // There are no objects.
        unsafe functions.freeObject = { _ in }
        return functions
    }

    @unsafe
    private static func reply(_ bytes: UnsafeRawBufferPointer, _ type: Int32?) -> RedisReply {
        switch type {
        case REDIS_REPLY_STATUS: unsafe .status(String(decoding: bytes, as: UTF8.self))
        case REDIS_REPLY_ERROR: unsafe .failure(String(decoding: bytes, as: UTF8.self))
        default: unsafe .text([UInt8](bytes))
        }
    }
}

/// Tells the builder of a task; returns its address, which is not null.
@unsafe
private func mark(
    _ task: UnsafePointer<redisReadTask>?,
    _ tell: (ReplyBuilder) -> Void
) -> UnsafeMutableRawPointer? {
    guard let mine = unsafe task?.pointee.privdata else { return nil }
    // Safety: a reader that has functions of a builder has its address, and ends before it.
    unsafe tell(Unmanaged<ReplyBuilder>.fromOpaque(mine).takeUnretainedValue())
    return unsafe mine
}
