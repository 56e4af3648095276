// A request that lupin makes for itself: small, bounded, and in memory.
import LupinCoding
package import LupinCore
import LupinIO
import LupinPolicy
import LupinWire

/// A request that lupin makes for itself, such as a certificate's revocation check.
///
/// No rule applies and the response is not stored; access lists and the parent proxy do apply.
package struct Fetch {
    package var origin: Origin
    /// Path and query, beginning with `/`.
    var path: String
    package var method = Method.get
    package var contentType: String?
    /// Additional fields.
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// The maximum length of the response's body; a longer one is an error.
    var answerBytesMax: Int
    /// The deadline, in microseconds of the loop's clock.
    package var deadline: UInt64
    /// Takes an idle connection if there is one, and leaves its own for the next request.
    ///
    /// The request must be safe to send twice: on a connection that turns out to be closed it is
    /// repeated once.
    package var keepsConnection = false

    package init(origin: Origin, path: String, answerBytesMax: Int, deadline: UInt64) {
        self.origin = origin
        self.path = path
        self.answerBytesMax = answerBytesMax
        self.deadline = deadline
    }
}

/// The response to a fetch.
package struct FetchAnswer {
    package var status: UInt16
    /// As it came.
    fileprivate var body: [UInt8]
    /// Those of Content-Encoding: some servers compress unasked.
    fileprivate var codings: [String]
    package var retryAfter: String?
    /// Where a redirect points.
    package var location: String?

    /// Why the body can't be read: completes "its answer …".
    package struct Unreadable: Error {
        package let reason: String
    }

    /// The body without its codings.
    package func plainBody(bytesMax: Int) throws(Unreadable) -> [UInt8] {
        if codings.isEmpty { return body }
        do throws(WholeBody.Problem) {
            return try WholeBody.decoded(body, from: codings, bytesMax: bytesMax)
        } catch {
            switch error {
            case .unknown(let coding):
                throw Unreadable(
                    reason: "is coded with \(coding.prefix(40)), which lupin can't undo"
                )
            case .tooLong: throw Unreadable(reason: "has more than \(bytesMax) bytes once decoded")
            case .coding(let problem):
                throw Unreadable(reason: "can't be decoded: \(problem.sentence)")
            }
        }
    }
}

extension OriginConnector {
    /// Runs a fetch on a connection of its own, unless it keeps connections.
    package func fetch(_ fetch: Fetch) async throws(LupinError) -> FetchAnswer {
        if let denial = policy.access.denial(ofName: fetch.origin.host) { throw denial }
        let hop = try ownHop(to: fetch.origin)
        try policy.access.check(
            fetch.origin,
            behind: hop,
            client: client,
            isHostFromFile: false
        )
        if fetch.keepsConnection,
            let link = worker.pool.lease(for: hop)
        {
            link.channel.pump = nil
            link.channel.slot = slot
            do throws(LupinError) {
                return try await answer(to: fetch, on: link)
            } catch {
                // Only where it may be that the peer closed it before the request came.
                guard !link.hasAnswered, error.onReusedConnection.retry == .staleConnection else {
                    throw error
                }
            }
        }
        let link: UpstreamHTTP1
        do throws(DialFailure) {
            var connector = self
            connector.deadline = min(deadline, fetch.deadline)
            link = try await connector.connectHTTP1(
                to: hop,
                isHostFromFile: false,
                noting: ConnectionNotes()
            )
        } catch {
            throw error.error
        }
        return try await answer(to: fetch, on: link)
    }

    /// Sends the request and takes the response; then the connection is closed, or left to others.
    private func answer(
        to fetch: Fetch,
        on link: UpstreamHTTP1
    ) async throws(LupinError) -> FetchAnswer {
        var isOver = false
        defer {
            if isOver, fetch.keepsConnection, !worker.isClosed {
                link.release(to: worker.pool, or: nil)
            } else {
                link.abort()
            }
        }
        link.begin(head(of: fetch), options(of: fetch, by: link.hop))
        try await send(fetch.body, on: link, until: fetch.deadline)
        let head = try await finalHead(on: link, until: fetch.deadline)
        let collected = CollectedBody(bytesMax: fetch.answerBytesMax)
        while true {
            let progress = try link.responseBody.pull()
            if progress == .end { break }
            if progress == .payload {
                let offer = try link.responseBody.offer(to: collected, keeping: nil)
                guard offer.isAllTaken else { throw .longAnswer(than: fetch.answerBytesMax) }
                if offer.isEnd { break }
            } else {
                try await wait(until: fetch.deadline, for: fetch.origin)
            }
        }
        isOver = true
        return FetchAnswer(
            status: head.status,
            body: collected.bytes,
            codings: head.fields.contentCodings,
            retryAfter: head.fields.value(of: "Retry-After"),
            location: head.fields.value(of: "Location")
        )
    }

    private func ownHop(to origin: Origin) throws(LupinError) -> NextHop {
        let parent = try parent(to: origin)
        guard origin.scheme == .https else {
            return parent.map(NextHop.parent) ?? .origin(origin)
        }
        let security = try policy.securities.security(SecurityDemand())
        return .secure(origin, security, through: parent)
    }

    private func head(of fetch: Fetch) -> RequestHead {
        var head = RequestHead()
        head.method = fetch.method
        head.form = .absolute
        head.pathAndQuery = head.fields.store(fetch.path)
        head.fields.add(name: "User-Agent", value: "lupin")
        if let type = fetch.contentType { head.fields.add(name: "Content-Type", value: type) }
        for field in fetch.fields { head.fields.add(name: field.name, value: field.value) }
        return head
    }

    private func options(of fetch: Fetch, by hop: NextHop) -> RequestOptions {
        var options = RequestOptions(
            target: .origin,
            authority: fetch.origin.authority,
            framing: fetch.body.isEmpty ? .none : .length(UInt64(fetch.body.count))
        )
        options.closes = !fetch.keepsConnection
        if case .parent(let parent) = hop {
            options.target = .absolute(fetch.origin.scheme)
            let own = worker.servers.parentCredentials.field(
                for: parent.proxy,
                method: fetch.method,
                uri: "\(fetch.origin.scheme.name)://\(fetch.origin.authority)\(fetch.path)",
                content: fetch.body
            )
            options.proxyAuthorization = own ?? parent.login
        }
        return options
    }

    /// Sends the body; returns early where the peer takes no more of it: what it has sent before
    /// it closed says why, a response or an alert of TLS, and is read next.
    private func send(
        _ body: [UInt8],
        on link: UpstreamHTTP1,
        until deadline: UInt64
    ) async throws(LupinError) {
        var sent = 0
        while sent < body.count {
            let rest = body.span.extracting(sent..<body.count)
            guard let taken = try? link.requestBody.push(rest, isLast: true) else { return }
            sent += taken
            if sent < body.count { try await wait(until: deadline, for: nil) }
        }
        while let isFlushed = try? link.requestBody.flush(), !isFlushed {
            try await wait(until: deadline, for: nil)
        }
    }

    private func finalHead(
        on link: UpstreamHTTP1,
        until deadline: UInt64
    ) async throws(LupinError) -> ResponseHead {
        var interims = 0
        while true {
            if let response = try link.nextHead() {
                if !response.head.isInterim { return response.takeHead() }
                interims += 1
                if interims > Self.interimsMax { throw .interimFlood(link.hop.text) }
            } else {
                try await wait(until: deadline, for: nil)
            }
        }
    }

    /// The maximum number of interim responses to such a request; more could occupy the loop.
    static let interimsMax = 16

    private func wait(until deadline: UInt64, for origin: Origin?) async throws(LupinError) {
        let interruptions = interruptions()
        let woken = await slot.park(
            for: .upstreamReadable | .upstreamWritable | interruptions,
            until: deadline
        )
        if woken.meets(interruptions) { throw woken.meets(.cut) ? .stopping : .clientGone }
        guard slot.loop.now >= deadline else { return }
        throw LupinError(
            .httpResponseTimeout,
            host: origin?.host.text,
            detail: "No answer in time."
        )
    }
}

extension LupinError {
    fileprivate static func longAnswer(than bytesMax: Int) -> LupinError {
        LupinError(
            .httpResponseBodySize,
            detail: "The answer has more than \(bytesMax) bytes."
        )
    }

    static func interimFlood(_ host: String) -> LupinError {
        LupinError(.httpProtocolError, host: host, detail: "Interim responses without end.")
    }
}
