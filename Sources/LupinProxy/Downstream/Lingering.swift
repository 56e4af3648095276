// How a client that still sends gets to read why its connection ends.
import LupinCore
import LupinIO

extension DownstreamConnection {
    /// Lets the client read our last words: closing with unread bytes would send RST, and RST makes
    /// the client's kernel drop what it has not read yet (RFC 9112 §9.6).
    func linger() async {
        guard channel.isOpen, !channel.isBroken else { return }
        // Nothing is lost any more with who only doesn't go.
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

    /// Bytes of an unwanted upload that are read so that the client gets to our answer.
    private static let lingerBytesMax = 32 << 20
    /// Bytes read and thrown away before other connections get their turn.
    private static let lingerTurnBytes = 1 << 20
}
