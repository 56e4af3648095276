// How commands send one request to a running lupin over its admin socket.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules
import LupinWire

/// The response of a running lupin.
struct AdminReply {
    var status: Int
    /// The ID in `Lupin-Last`: of the latest exchange that ended.
    var lastID: String?
    /// Whether it runs in another network than this command, where its addresses mean others.
    var isElsewhere = false
    var body: [UInt8]

    var isSuccess: Bool { status / 100 == 2 }

    /// Decodes the body; returns nil when it is not a valid `Value`.
    func decoded<Value: Decodable>(as type: Value.Type) -> Value? {
        JSONValue(parsing: body.span).flatMap { try? JSONDecoding.value(type, from: $0) }
    }

    /// The reason for which a request was refused, as a sentence.
    var sentence: String {
        struct Refusal: Decodable { var error: String }
        return (decoded(as: Refusal.self)?.error).map { LogText.plain($0) }
            ?? "it answered with status \(status)"
    }
}

/// The reason for which there is no response.
struct AdminProblem: Error {
    /// A sentence for users.
    let message: String
    /// Another user sits where lupin would be.
    var isForeign = false
    /// Nobody listens there.
    var isAbsence = false
}

/// A client for the admin interface of the lupin at a Unix socket.
struct AdminClient: Sendable {
    /// The path of the socket.
    let path: String
    /// Whether the command line said neither the socket nor the rules file that names it.
    var isUsual = false

    /// The timeout of a request; a reload may have to create a CA.
    private static let timeout = Duration.seconds(30)
    /// The longest answer to most requests; a reload names the problems of a whole rules file.
    static let answerBytesMax = 16 << 20
    /// The longest answer with many exchanges, or with bodies.
    static let exchangesBytesMax = 256 << 20

    /// Finds the socket of a command: the one in `socket`, the one that the rules file names, or
    /// the default one.
    ///
    /// A rules file with errors still names the socket: it may be the file to mend.
    /// - Throws: An `AdminProblem` when there is no socket.
    static func locate(
        socket: String?,
        rulesFile: String?,
        environment: [String: String] = LocatedRules.environment
    ) throws(AdminProblem) -> AdminClient {
        if let socket { return AdminClient(path: socket) }
        var settings = AdminSettings()
        if let file = RulesFile.locate(explicit: rulesFile, environment: environment) {
            let result = RulesFile.load(
                path: file,
                environment: environment,
                secrets: .named
            )
            settings = result.admin
            guard settings.socket != .off else {
                throw AdminProblem(message: "\(file) says admin: {socket: off}; pass --socket")
            }
        }
        guard
            let endpoint = settings.endpoint(
                environment: environment,
                home: ProcessOwner.home(environment)
            )
        else {
            throw AdminProblem(message: "there is no directory for a socket; pass --socket")
        }
        return AdminClient(path: endpoint.path, isUsual: rulesFile == nil)
    }

    // MARK: A request

    /// Sends a request and reads the whole answer, of at most `bytesMax` bytes.
    ///
    /// `body` is JSON; nil for a request without a body.
    func request(
        _ method: String,
        _ target: String,
        body: [UInt8]? = nil,
        timeout: Duration = Self.timeout,
        bytesMax: Int = Self.answerBytesMax,
        on loop: EventLoop
    ) async throws(AdminProblem) -> AdminReply {
        let channel: Channel
        do throws(SystemError) {
            channel = try LocalSocket.connect(to: path, on: loop)
        } catch {
            let others = isUsual ? "; --socket or --rules leads to another one" : ""
            let message = "no lupin answers at \(path): \(error.message)\(others)"
            throw AdminProblem(message: message, isAbsence: true)
        }
        defer { channel.close() }
        // Of the connection, since what a path leads to may change.
        let user = LocalSocket.user(of: channel)
        if let refusal = TrustedServer.refusal(of: LogText.plain(path), servedBy: user) {
            throw AdminProblem(message: refusal, isForeign: true)
        }
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
        channel.closedReason = .upstreamReadable
        let head =
            "\(method) \(target) HTTP/1.1\r\nHost: lupin\r\n"
            + "Content-Length: \(body?.count ?? 0)\r\n"
            + (body == nil ? "" : "Content-Type: application/json\r\n")
            + "Connection: close\r\n\r\n"
        let deadline = loop.deadline(in: timeout)
        try await send(Array(head.utf8), over: channel, slot, until: deadline)
        try await send(body ?? [], over: channel, slot, until: deadline)
        let answer = try await readToEnd(channel, slot, until: deadline, bytesMax)
        guard let reply = Self.reply(answer) else { throw broken }
        return reply
    }

    /// Sends a request and reads the JSON of its answer.
    /// - Throws: An `AdminProblem`, for a refusal too.
    func json(
        _ method: String,
        _ path: String,
        body: [UInt8]? = nil,
        on loop: EventLoop
    ) async throws(AdminProblem) -> JSONValue {
        let reply = try await request(method, path, body: body, on: loop)
        guard reply.isSuccess else { throw AdminProblem(message: reply.sentence) }
        return JSONValue(parsing: reply.body.span) ?? .null
    }

    private static let pieceBytes = 64 << 10

    private func send(
        _ bytes: [UInt8],
        over channel: Channel,
        _ slot: ParkingSlot,
        until deadline: UInt64
    ) async throws(AdminProblem) {
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.pieceBytes, bytes.count)
            channel.stage { $0.append(contentsOf: bytes[start..<end]) }
            start = end
            while true {
                guard let isSent = try? channel.flush() else { throw broken }
                if isSent { break }
                let woken = await slot.park(for: .upstreamWritable, until: deadline)
                if woken.contains(.timedOut) {
                    throw AdminProblem(message: "the lupin at \(path) takes too long to read")
                }
            }
        }
    }

    private var broken: AdminProblem {
        AdminProblem(message: "what listens at \(path) does not answer as lupin does")
    }

    private func readToEnd(
        _ channel: Channel,
        _ slot: ParkingSlot,
        until deadline: UInt64,
        _ bytesMax: Int
    ) async throws(AdminProblem) -> [UInt8] {
        var answer: [UInt8] = []
        while answer.count <= bytesMax {
            guard let received = try? channel.receive() else { throw broken }
            switch received {
            case .end: return answer
            case .bytes, .full:
                let input = channel.input
                let count = input.count
                answer.append(copying: input.bytes)
                input.discard(count)
            case .blocked:
                let woken = await slot.park(for: .upstreamReadable, until: deadline)
                if woken.contains(.timedOut) {
                    throw AdminProblem(message: "the lupin at \(path) takes too long to answer")
                }
            }
        }
        throw AdminProblem(
            message:
                "the lupin at \(path) answers with more than \(bytesMax >> 20) MiB; ask for less"
        )
    }

    /// Parses a response; returns nil unless it is a complete response with Content-Length.
    static func reply(_ bytes: [UInt8]) -> AdminReply? {
        let parser = ResponseParser(limits: HTTP1Limits())
        guard let headBytes = try? parser.feed(bytes.span, requestMethod: .get), parser.isComplete
        else { return nil }
        let head = parser.take()
        let body = Array(bytes[headBytes...])
        guard head.contentLength == UInt64(body.count) else { return nil }
        return AdminReply(
            status: Int(head.status),
            lastID: head.head.fields.value(of: "Lupin-Last"),
            isElsewhere: head.head.fields.value(of: "Lupin-Network") != nil,
            body: body
        )
    }
}

extension AdminClient {
    /// Sends a request to the running lupin; returns nil when there is none, and says so where
    /// another user has its place.
    static func answer(
        _ method: String,
        _ path: String,
        bytesMax: Int = Self.answerBytesMax,
        socket: String?,
        rulesFile: String?
    ) -> AdminReply? {
        do throws(AdminProblem) {
            return try ask(
                method,
                path,
                bytesMax: bytesMax,
                socket: socket,
                rulesFile: rulesFile
            )
        } catch {
            if error.isForeign { StandardError.print("lupin: warning: \(error.message)") }
            return nil
        }
    }

    /// Sends a request to the running lupin; throws when there is none, or it doesn't answer.
    static func ask(
        _ method: String,
        _ path: String,
        body: [UInt8]? = nil,
        bytesMax: Int = Self.answerBytesMax,
        socket: String?,
        rulesFile: String?
    ) throws(AdminProblem) -> AdminReply {
        let result: Result<AdminReply, AdminProblem>? = try? ControlLoop.value { executor in
            do throws(AdminProblem) {
                let client = try AdminClient.locate(socket: socket, rulesFile: rulesFile)
                return .success(
                    try await client.request(
                        method,
                        path,
                        body: body,
                        bytesMax: bytesMax,
                        on: executor.loop
                    )
                )
            } catch {
                return .failure(error)
            }
        }
        guard let result else { throw AdminProblem(message: "there is no loop to ask from") }
        return try result.get()
    }
}

/// The options by which a command finds a running lupin.
struct AdminOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The socket of the running lupin (admin.socket).", valueName: "path"),
        completion: .file()
    )
    var socket: String?

    @Option(rulesFile: "The rules file that names the socket.")
    var rulesFile: String?

    func client() throws(AdminProblem) -> AdminClient {
        try AdminClient.locate(socket: socket, rulesFile: rulesFile)
    }
}

extension AdminOptions {
    /// Sends a request; exits with the code that `tell` returns for the response.
    func ask(
        _ method: String,
        _ path: String,
        bytesMax: Int = AdminClient.answerBytesMax,
        _ tell: @escaping @Sendable (AdminReply) -> ExitCode
    ) throws {
        let options = self
        let code = try ControlLoop.run { executor in
            do throws(AdminProblem) {
                let client = try options.client()
                return tell(
                    try await client.request(method, path, bytesMax: bytesMax, on: executor.loop)
                )
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
        }
        if code != .success { throw code }
    }
}

extension AdminReply {
    /// Prints the body; prints the reason for the failure when there is one.
    func tell<Value: Decodable>(
        asJSON: Bool,
        as type: Value.Type,
        _ tell: (Value) -> Void
    ) -> ExitCode {
        guard isSuccess, let value = decoded(as: type) else {
            StandardError.print("lupin: \(sentence)")
            return .failure
        }
        if asJSON {
            StandardOutput.print(code: String(decoding: body, as: UTF8.self), terminator: "")
        } else {
            tell(value)
        }
        return .success
    }
}
