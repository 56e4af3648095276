// How commands ask a lupin that runs: where its socket is, and one request over it.
import ArgumentParser
import FoundationEssentials
import LupinCore
import LupinIO
import LupinRules
import LupinWire

/// What a running lupin answered.
struct AdminReply {
    var status: Int
    var body: [UInt8]

    var isSuccess: Bool { status / 100 == 2 }

    /// The body as a value; nil when it is no such thing.
    func decoded<Value: Decodable>(as type: Value.Type) -> Value? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try? decoder.decode(type, from: Data(body))
    }

    /// Why a request was refused, in words.
    var sentence: String {
        struct Refusal: Decodable { var error: String }
        return decoded(as: Refusal.self)?.error ?? "it answered with status \(status)"
    }
}

/// Why nobody answered.
struct AdminProblem: Error {
    /// A sentence for people.
    let message: String
}

/// The admin interface of the lupin that listens on a socket of this user.
struct AdminClient: Sendable {
    /// The socket.
    let path: String

    /// How long a lupin may take: changing its rules may mean to make an authority.
    private static let patience = Duration.seconds(30)
    /// Longer answers are none of lupin's.
    private static let answerBytesMax = 256 << 20

    /// The socket that a command means: the one it was given, the one that the rules file names,
    /// or the usual one.
    ///
    /// A rules file with errors still says where the socket is: it may be what is to be mended.
    /// - Throws: Why there can be none.
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
                namesSecrets: true
            )
            settings = result.admin
            guard settings.socket != .off else {
                throw AdminProblem(message: "\(file) says admin: {socket: off}; pass --socket")
            }
        }
        guard
            let place = settings.place(
                environment: environment,
                home: ProcessOwner.home(environment)
            )
        else {
            throw AdminProblem(message: "there is no directory for a socket; pass --socket")
        }
        return AdminClient(path: place.path)
    }

    // MARK: A request

    /// Sends a request without a body and reads the whole answer.
    func request(
        _ method: String,
        _ target: String,
        on loop: EventLoop
    ) async throws(AdminProblem) -> AdminReply {
        let channel: Channel
        do throws(SystemError) {
            channel = try LocalSocket.connect(to: path, on: loop)
        } catch {
            throw AdminProblem(message: "no lupin answers at \(path): \(error.message)")
        }
        defer { channel.close() }
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.closedReason = .upstreamReadable
        let head =
            "\(method) \(target) HTTP/1.1\r\nHost: lupin\r\nContent-Length: 0\r\n"
            + "Connection: close\r\n\r\n"
        channel.stage { $0.append(contentsOf: head.utf8) }
        guard (try? channel.flush()) == true else { throw broken }
        let answer = try await readToEnd(channel, slot, until: loop.deadline(in: Self.patience))
        guard let reply = Self.reply(answer) else { throw broken }
        return reply
    }

    private var broken: AdminProblem {
        AdminProblem(message: "what listens at \(path) does not answer as lupin does")
    }

    private func readToEnd(
        _ channel: Channel,
        _ slot: ParkingSlot,
        until deadline: UInt64
    ) async throws(AdminProblem) -> [UInt8] {
        var answer: [UInt8] = []
        while answer.count < Self.answerBytesMax {
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
        throw broken
    }

    /// Reads what was answered; nil for what is no whole answer of lupin's.
    static func reply(_ bytes: [UInt8]) -> AdminReply? {
        let parser = ResponseParser(limits: HTTP1Limits())
        guard let headBytes = try? parser.feed(bytes.span, requestMethod: .get), parser.isComplete
        else { return nil }
        let head = parser.take()
        let body = Array(bytes[headBytes...])
        guard head.contentLength == UInt64(body.count) else { return nil }
        return AdminReply(status: Int(head.status), body: body)
    }
}

extension AdminClient {
    /// What the running lupin answers; nil where none runs.
    static func answer(
        _ method: String,
        _ path: String,
        socket: String?,
        rulesFile: String?
    ) -> AdminReply? {
        try? ControlLoop.value { executor in
            let client = try? AdminClient.locate(socket: socket, rulesFile: rulesFile)
            return try? await client?.request(method, path, on: executor.loop)
        } ?? nil
    }
}

/// The options by which commands find a running lupin.
struct AdminPlace: ParsableArguments {
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

extension AdminPlace {
    /// Asks the running lupin, has its answer told and ends with what that came to.
    func ask(
        _ method: String,
        _ path: String,
        _ tell: @escaping @Sendable (AdminReply) -> ExitCode
    ) throws {
        let place = self
        let code = try ControlLoop.run { executor in
            do throws(AdminProblem) {
                let client = try place.client()
                return tell(try await client.request(method, path, on: executor.loop))
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
        }
        if code != .success { throw code }
    }
}

extension AdminReply {
    /// Prints the answer, or why there is none.
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
            print(String(decoding: body, as: UTF8.self), terminator: "")
        } else {
            tell(value)
        }
        return .success
    }
}
