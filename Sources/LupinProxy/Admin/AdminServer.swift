// The listeners of the admin interface: a socket for this user, and TCP for clients with the token.
import Logging
import LupinCore
import LupinIO
import LupinPolicy

/// The listeners and connections of the admin interface; confined to the control loop.
final class AdminServer {
    private let routes: AdminRoutes
    private let loop: EventLoop
    private var socket: (LocalListener, ParkingSlot)?
    private var http: (ListeningSocket, Listener, ParkingSlot)?
    private var metrics: (ListeningSocket, Listener, ParkingSlot)?
    private var inspector: (ListeningSocket, Listener, ParkingSlot)?
    private let sessions: InspectorSessions
    /// By their number, which ascends.
    private var connections: [Int: AdminConnection] = [:]
    /// The number of connections so far.
    private var arrivals = 0
    /// The slots of tasks that wait until a connection has ended.
    private var waiting: [ParkingSlot] = []
    private var isClosed = false

    /// The maximum number of connections on the socket, and again on TCP; others wait in the
    /// kernel's queue.
    private static let connectionsMax = 64

    init(_ routes: AdminRoutes, on loop: EventLoop) {
        self.routes = routes
        self.loop = loop
        sessions = InspectorSessions(on: loop)
    }

    private var logger: Logger { routes.shared.logger }

    /// Starts to listen; a listener that fails is logged and left out, since the proxy works
    /// without it.
    func open(
        _ settings: AdminSettings,
        environment: [String: String],
        passed: PassedListeners
    ) {
        let endpoint = settings.endpoint(
            environment: environment,
            home: ProcessOwner.home(environment)
        )
        if settings.socket != .off, let socket = passed.adminSocket(at: endpoint?.path) {
            openPassed(socket)
        } else if let endpoint {
            openSocket(endpoint)
        } else if settings.socket != .off {
            logger.warning("no admin socket: there is no directory for it")
        }
        if let http = settings.http { openHTTP(http, passed) }
    }

    private func openSocket(_ endpoint: AdminSettings.Endpoint) {
        openSocket(at: endpoint.path) { loop, slot throws(LocalSocketProblem) in
            try LocalListener(
                path: endpoint.path,
                makingDirectory: endpoint.isDirectoryOurs,
                on: loop,
                slot: slot
            )
        }
    }

    private func openPassed(_ socket: PassedSocket) {
        openSocket(at: socket.text) { loop, slot throws(LocalSocketProblem) in
            try LocalListener(socket, on: loop, slot: slot)
        }
    }

    private func openSocket(
        at path: String,
        _ make: (EventLoop, ParkingSlot) throws(LocalSocketProblem) -> LocalListener
    ) {
        let slot = ParkingSlot(on: loop)
        do throws(LocalSocketProblem) {
            socket = (try make(loop, slot), slot)
            let local = LoopLocal(self, of: loop.executor)
            Task.immediate(executorPreference: loop.executor) { await local.value.acceptLocal() }
        } catch {
            guard error == .inUse else {
                logger.warning("no admin socket at \(path): \(error.message)")
                return
            }
            let holder = Self.holder(of: path) ?? error.message
            logger.warning(
                """
                no admin socket at \(path): \(holder); lupin status and its like ask that one, \
                and `admin: {socket: …}` in the rules file of this one names another place
                """
            )
        }
    }

    /// Which lupin listens at a path, as it says itself; nil where none answers.
    ///
    /// It blocks.
    private static func holder(of path: String) -> String? {
        let request = "GET /v1/status HTTP/1.1\r\nHost: lupin\r\nConnection: close\r\n\r\n"
        let answer = try? LocalSocket.ask(request, at: path, timeout: .seconds(1))
        guard let answer = answer ?? nil, let start = answer.firstIndex(of: 0x7B) else {
            return nil
        }
        let body = Array(answer[start...])
        guard let status = JSONValue(parsing: body.span),
            let process = status["pid"]?.count
        else { return nil }
        let file = status["rules"]?["file"]?.string.map { "by \(LogText.plain($0))" }
        return "the lupin of process \(process), which runs \(file ?? "without a rules file"), "
            + "listens there"
    }

    private func openHTTP(_ settings: AdminHTTPSettings, _ passed: PassedListeners) {
        let address = SocketAddress(address: settings.address, port: settings.port)
        let slot = ParkingSlot(on: loop)
        do throws(SystemError) {
            let socket =
                if let own = passed.socket(at: address) {
                    try ListeningSocket(own, at: address)
                } else {
                    try ListeningSocket(address)
                }
            let listener = try Listener(socket, on: loop, slot: slot, isShared: false)
            http = (socket, listener, slot)
            routes.shared.marks.add(socket)
            let local = LoopLocal(self, of: loop.executor)
            Task.immediate(executorPreference: loop.executor) {
                let server = local.value
                guard let http = server.http else { return }
                await server.accept(at: http, .remote) { listener, local in
                    .remote(settings, listener: listener, local: local)
                }
            }
            logger.notice("admin interface at http://\(socket.address)")
        } catch {
            logger.warning("no admin interface at \(address): \(error.text(at: address))")
        }
    }

    /// Starts to serve `/metrics` at an address of its own.
    func openMetrics(_ endpoint: ListenEndpoint) {
        let address = SocketAddress(address: endpoint.address, port: endpoint.port)
        let slot = ParkingSlot(on: loop)
        do throws(SystemError) {
            let socket = try ListeningSocket(address)
            let listener = try Listener(socket, on: loop, slot: slot, isShared: false)
            metrics = (socket, listener, slot)
            routes.shared.marks.add(socket)
            let local = LoopLocal(self, of: loop.executor)
            Task.immediate(executorPreference: loop.executor) {
                let server = local.value
                guard let metrics = server.metrics else { return }
                await server.accept(at: metrics, .metrics) { listener, local in
                    .metrics(listener: listener, local: local)
                }
            }
            logger.notice("metrics at http://\(socket.address)/metrics")
        } catch {
            logger.warning("no metrics at \(address): \(error.text(at: address))")
        }
    }

    /// The listener of the inspector's page, on loopback, which is opened by the first call.
    func inspectorAddress() throws(SystemError) -> SocketAddress {
        if let (socket, _, _) = inspector { return socket.address }
        let address = SocketAddress(address: .v4(0x7F00_0001), port: 0)
        let slot = ParkingSlot(on: loop)
        let socket = try ListeningSocket(address)
        let listener = try Listener(socket, on: loop, slot: slot, isShared: false)
        inspector = (socket, listener, slot)
        routes.shared.marks.add(socket)
        let local = LoopLocal(self, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let server = local.value
            guard let inspector = server.inspector else { return }
            let sessions = server.sessions
            await server.accept(at: inspector, .remote) { listener, _ in
                .inspector(sessions, listener: listener)
            }
        }
        return socket.address
    }

    /// The address of the page for one browser.
    func newInspectorURL(at address: SocketAddress) -> String {
        "http://\(address)/#code=\(sessions.newCode())"
    }

    /// Stops accepting; open connections end now.
    func close() async {
        isClosed = true
        if let (listener, slot) = socket {
            listener.close()
            slot.wake(.cut)
        }
        for (socket, listener, slot) in [http, metrics, inspector].compactMap(\.self) {
            listener.close()
            socket.close()
            slot.wake(.cut)
        }
        for slot in waiting { slot.wake(.answered) }
        for connection in connections.values { connection.cut() }
        while !connections.isEmpty { await awaitEnd() }
    }

    // MARK: Accepting

    private func acceptLocal() async {
        guard let (listener, slot) = socket else { return }
        while !isClosed {
            await waitForRoom(.local, at: listener, slot)
            if isClosed { return }
            switch (try? listener.accept()) ?? .exhausted {
            case .connection(let channel, let client): serve(channel, .local(client))
            case .blocked: _ = await slot.park(for: .ready | .cut)
            case .exhausted: await rest(listener, slot)
            }
        }
    }

    private func accept(
        at endpoint: (ListeningSocket, Listener, ParkingSlot),
        _ crowd: AdminConnection.Crowd,
        _ guarded: (_ listener: SocketAddress, _ local: SocketAddress?) -> AdminGuard
    ) async {
        let (socket, listener, slot) = endpoint
        while !isClosed {
            await waitForRoom(crowd, at: listener, slot)
            if isClosed { return }
            switch (try? listener.accept()) ?? .exhausted {
            case .connection(let channel):
                serve(channel, guarded(socket.address, channel.localAddress))
            case .blocked: _ = await slot.park(for: .ready | .cut)
            case .exhausted: await rest(listener, slot)
            }
        }
    }

    /// Waits until a crowd has room for one more connection; those that wait stay in the kernel's
    /// queue.
    private func waitForRoom(
        _ crowd: AdminConnection.Crowd,
        at listener: any PausableListener,
        _ slot: ParkingSlot
    ) async {
        while count(crowd) >= Self.connectionsMax, !isClosed {
            // No connection is closed in vain.
            guard listener.hasWaiting else {
                _ = await slot.park(for: .ready | .cut)
                continue
            }
            listener.pause()
            if crowd != .local { cutOldestUnproven(crowd) }
            await awaitEnd()
            if !isClosed, (try? listener.resume()) == nil { await rest(listener, slot) }
        }
    }

    /// Counted separately: foreign clients can reach the port, and must not block clients with the
    /// token or those on the socket.
    private func count(_ crowd: AdminConnection.Crowd) -> Int {
        connections.values.count { $0.crowd == crowd }
    }

    /// Makes room for a client that may have the token.
    private func cutOldestUnproven(_ crowd: AdminConnection.Crowd) {
        let unproven = connections.filter { $0.value.crowd == crowd && !$0.value.isProven }
        unproven.min { $0.key < $1.key }?.value.cut()
    }

    /// Stops accepting for a while, for lack of descriptors or memory.
    private func rest(_ listener: any PausableListener, _ slot: ParkingSlot) async {
        listener.pause()
        repeat {
            _ = await slot.park(for: .cut, until: loop.deadline(in: .milliseconds(200)))
        } while !isClosed && (try? listener.resume()) == nil
    }

    private func awaitEnd() async {
        let slot = ParkingSlot(on: loop)
        waiting.append(slot)
        _ = await slot.park(for: .answered)
    }

    private func serve(_ channel: Channel, _ guarded: AdminGuard) {
        let connection = AdminConnection(channel, guarded, routes)
        arrivals += 1
        let number = arrivals
        connections[number] = connection
        let local = LoopLocal((self, connection), of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let (server, connection) = local.value
            await connection.serve()
            server.remove(number)
        }
    }

    private func remove(_ number: Int) {
        connections[number] = nil
        for slot in waiting { slot.wake(.answered) }
        waiting = []
    }
}
