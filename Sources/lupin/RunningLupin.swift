// The lupin that runs, as commands in other terminals find it: by its socket.

enum RunningLupin {
    /// What it says of itself; nil where none answers at the socket, or at the usual one.
    static func find(socket: String?) -> RunningStatus? {
        AdminClient.answer("GET", "/v1/status", socket: socket, rulesFile: nil)?
            .decoded(as: RunningStatus.self)
    }
}
