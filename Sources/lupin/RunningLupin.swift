// Finds the running lupin for commands in other terminals, by its socket.

enum RunningLupin {
    /// Requests its status; returns nil when none answers at the socket, or at the default one.
    static func find(socket: String?) -> RunningStatus? {
        AdminClient.answer("GET", "/v1/status", socket: socket, rulesFile: nil)?
            .decoded(as: RunningStatus.self)
    }
}
