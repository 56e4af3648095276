// Joins a CONNECT stream of HTTP/2 to a socket, so that its inside has a channel of its own.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// Relays the bytes between a stream and a socket, in both directions, until both are done.
final class StreamBridge: ChannelPump {
    private let stream: HTTP2Stream
    private let channel: Channel
    private let slot: ParkingSlot
    private let tunnelIdle: UInt64
    private let up: BodyRelay
    private let down: BodyRelay

    init(_ stream: HTTP2Stream, _ channel: Channel, _ slot: ParkingSlot, tunnelIdle: UInt64) {
        self.stream = stream
        self.channel = channel
        self.slot = slot
        self.tunnelIdle = tunnelIdle
        let limits = HTTP1Limits()
        let reader = HTTP1BodyReader(channel, side: .upstream, limits: limits)
        let writer = HTTP1BodyWriter(channel, side: .upstream)
        reader.begin(.untilClose)
        writer.beginTunnel()
        up = BodyRelay(from: stream, to: writer, slot: slot)
        down = BodyRelay(from: reader, to: stream, slot: slot)
    }

    func channelIsReady(_ channel: Channel) {
        let isUpResting = up.pump()
        let isDownResting = down.pump()
        // Where the inside closes after its last byte, no relay has anything to tell.
        if down.isOver, channel.isBroken { slot.wake(.relayEnded) }
        if isUpResting && isDownResting { return }
        slot.loop.later { [self] in channelIsReady(channel) }
    }

    func run() async {
        stream.pump = self
        stream.slot = slot
        channel.pump = self
        channelIsReady(channel)
        while !(up.isOver && down.isOver) {
            let active = max(up.lastActivity, down.lastActivity)
            let woken = await slot.park(for: .relayEnded | .cut, until: active &+ tunnelIdle)
            let isIdle = slot.loop.now &- max(up.lastActivity, down.lastActivity) >= tunnelIdle
            if woken.meets(.cut) || isIdle || up.failure != nil || down.failure != nil { break }
            // The inside has closed completely: the client's further bytes have no reader.
            if down.isOver, channel.isBroken { break }
        }
        let isWhole = down.state == .finished && (up.state == .finished || channel.isBroken)
        up.cancel()
        down.cancel()
        channel.close(reset: !isWhole)
        if !isWhole { stream.abort(.connectError) }
        if isWhole, !stream.hasPeerEnded { stream.abort(.noError) }
    }
}
