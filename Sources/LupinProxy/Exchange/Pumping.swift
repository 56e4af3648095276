// Moves the bodies of an exchange when events come.
import LupinIO
import LupinUpstream

extension Exchange: ChannelPump {
    func channelIsReady(_ channel: Channel) { resumeBodies() }

    /// Moves all bytes that can move now, and the rest after other connections had their turn.
    func pumpBodies() {
        var isUploadResting = true
        if let upload {
            isUploadResting = upload.pump()
            // An origin that has answered may leave before it has the whole request.
            if bringsUpload, !uploadGoesOn { slot.wake(.relayEnded) }
        }
        let isFillingResting = filling?.pump() ?? true
        let isDownloadResting = download?.pump() ?? true
        if let download, !download.isOver, upload?.isOver != false { downstream.letRestPass() }
        wakeForThrottle()
        noteProgress()
        if isUploadResting && isFillingResting && isDownloadResting { return }
        // No event will announce bytes that have come already. Relays that have ended rest.
        slot.loop.later { [self] in
            resumeBodies()
        }
    }

    /// Moves bodies while the task is parked, and the whole exchange when there is no task.
    func resumeBodies() {
        pumpBodies()
        goOn()
    }
}
