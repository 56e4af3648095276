// Lets a client that still sends read why its connection ends.
import LupinIO
import LupinUpstream

extension DownstreamConnection {
    /// Lets the client read our last response: closing with unread bytes would send RST, and RST
    /// makes the client's kernel drop what it has not read yet (RFC 9112 §9.6).
    func linger() async {
        guard channel.isOpen, !channel.isBroken else { return }
        // From here on the connection may be closed for others without loss.
        headAwaitedSince = resources.loop.now
        defer { headAwaitedSince = nil }
        let flushDeadline = resources.loop.deadline(in: .seconds(5))
        while (try? channel.flush()) == false, resources.loop.now < flushDeadline,
            !resources.isCut
        {
            let woken = await slot.park(for: .downstreamWritable | .cut, until: flushDeadline)
            if woken.meets(.cut) { return }
        }
        channel.finishSending()
        guard !resources.isCut else { return }
        let deadline = resources.loop.deadline(in: .seconds(2))
        var drained = 0
        var turn = 0
        while resources.loop.now < deadline, drained < Self.lingerBytesMax {
            drained += channel.input.count
            turn += channel.input.count
            channel.input.discard(channel.input.count)
            guard let received = try? channel.receive(), received != .end else { return }
            if received == .bytes {
                if turn >= Self.lingerTurnBytes {
                    turn = 0
                    await slot.giveWay()
                }
                continue
            }
            let woken = await slot.park(for: .downstreamReadable | .cut, until: deadline)
            if woken.meets(.cut) || resources.loop.now >= deadline { return }
        }
    }

    /// How many bytes of an unwanted upload are read so that the client reaches our response, over
    /// HTTP/1 and HTTP/2.
    static let lingerBytesMax = HTTP2Stream.passingBytesMax
    /// Bytes discarded before other connections get their turn.
    private static let lingerTurnBytes = 1 << 20
}
