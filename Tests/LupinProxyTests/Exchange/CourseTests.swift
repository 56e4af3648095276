// What an exchange needs at which point, and when that means a task: all of it, by values alone.

import LupinCaching
import LupinCore
import LupinPolicy
import LupinProxy
import Testing

struct CourseTests {
    /// A course that events drive.
    private static var taskless: Course {
        var course = Course()
        course.leaveToEvents()
        return course
    }

    // MARK: When the request has come

    private func atRequest(
        _ method: Method = .get,
        asksForPassword: Bool = false,
        isWebSocket: Bool = false,
        expectsContinue: Bool = false,
        hasInterceptor: Bool = false,
        in course: Course = taskless
    ) -> Need? {
        course.arrived(
            method,
            asksForPassword: asksForPassword,
            isWebSocket: isWebSocket,
            expectsContinue: expectsContinue,
            hasInterceptor: hasInterceptor
        )
    }

    @Test(arguments: Method.defined.filter { $0 != .connect } + [.other("BREW")])
    func `a plain request of any method needs none`(method: Method) {
        #expect(atRequest(method) == nil)
    }

    @Test func `whatever has to be waited for before the target is known needs one`() {
        #expect(atRequest(asksForPassword: true) == .password)
        #expect(atRequest(.connect) == .connect)
        #expect(atRequest(.connect, isWebSocket: true) == .webSocket)
        #expect(atRequest(.put, expectsContinue: true) == .expectation)
        #expect(atRequest(hasInterceptor: true) == .interceptor)
        // Nothing of a request counts before its password is right.
        #expect(atRequest(.connect, asksForPassword: true) == .password)
    }

    @Test func `a task waits for the password alone before the target is known`() {
        let course = Course()
        #expect(atRequest(asksForPassword: true, in: course) == .password)
        #expect(atRequest(.connect, isWebSocket: true, in: course) == nil)
        #expect(atRequest(.put, expectsContinue: true, hasInterceptor: true, in: course) == nil)
    }

    // MARK: When the rules have spoken

    private static func plan(_ body: (inout Rule) -> Void) throws -> Plan { try .of(body) }

    private func atMatch(
        _ plan: Plan?,
        _ handler: RequestHandler = .origin,
        hasLongTimeouts: Bool = true,
        asksForOwner: Bool = false,
        in course: Course = taskless
    ) -> Need? {
        course.matched(plan, handler, hasLongTimeouts: hasLongTimeouts, asksForOwner: asksForOwner)
    }

    private static func handler(
        _ method: Method = .get,
        isTaped: Bool = false,
        isWebSocket: Bool = false,
        _ body: ((inout Rule) -> Void)? = nil
    ) throws -> RequestHandler {
        let plan = try body.map(plan)
        return .of(method, plan, isTaped: isTaped, isWebSocket: isWebSocket)
    }

    @Test func `the first that applies gives the response`() throws {
        let cache = { (rule: inout Rule) in rule.cache = .some(CachePolicy(name: "standard")) }
        let mock = { (rule: inout Rule) in rule.respond = CannedResponse(status: 204) }
        let both = { (rule: inout Rule) in
            cache(&rule)
            mock(&rule)
        }
        #expect(try Self.handler() == .origin)
        #expect(try Self.handler { _ in } == .origin)
        #expect(try Self.handler(.purge) == .origin)
        #expect(try Self.handler(.connect) == .tunnel)
        for method in [Method.get, .post, .options] {
            #expect(try Self.handler(method, cache) == .cache)
            #expect(try Self.handler(method, mock) == .rule)
            #expect(try Self.handler(method, both) == .rule)
        }
        #expect(try Self.handler(.purge, cache) == .purge)
        #expect(try Self.handler(.purge, both) == .rule)
        // The path of a CONNECT is hidden: what answers it is decided with the interception.
        #expect(try Self.handler(.connect, isTaped: true, both) == .tunnel)
        for method in [Method.get, .purge] {
            #expect(try Self.handler(method, isTaped: true, both) == .tape)
        }
        #expect(try Self.handler(isWebSocket: true, cache) == .origin)
        #expect(try Self.handler(isWebSocket: true, mock) == .rule)
        #expect(try Self.handler(.connect, isWebSocket: true) == .origin)
    }

    @Test func `no rule and rules that wait for nothing need none`() throws {
        #expect(atMatch(nil) == nil)
        let token = RequestStep.auth(token: "github")
        let validation = { (rule: inout Rule) in
            var policy = ValidationPolicy()
            policy.status = StatusSet([200...299])
            rule.validation = policy
        }
        for body: (inout Rule) -> Void in [
            { _ in },
            { $0.steps = [.set(name: "X-A", value: Template([.text("1")]))] },
            { $0.steps = [token] },
            { $0.steps = [.remove(pattern: "x-*")] },
            { $0.responseSteps = [.remove(pattern: "server")] },
            { $0.respond = CannedResponse(status: 403) },
            { $0.cache = .some(CachePolicy(name: "standard")) },
            { $0.log.off = true },
            validation,
        ] {
            #expect(try atMatch(Self.plan(body)) == nil)
        }
    }

    @Test func `every demand that waits needs one`() throws {
        var racing = RetryPolicy.standard
        racing.perTry = .seconds(1)
        for body: (inout Rule) -> Void in [
            { $0.steps = [.delay(.seconds(1))] },
            { $0.steps = [.compress(CompressStep())] },
            { $0.retry = racing },
            { $0.flags[.resume] = true },
            { $0.throttle.down = .some(1) },
        ] {
            #expect(try atMatch(Self.plan(body)) == .demand)
        }
    }

    @Test func `a rule that answers waits for what makes it slow, and for nothing else`() throws {
        let answer = CannedResponse(status: 204)
        let quick = try Self.plan {
            $0.respond = answer
            $0.responseSteps = [.remove(pattern: "server")]
            $0.flags[.resume] = true
        }
        #expect(atMatch(quick) == nil)
        #expect(atMatch(quick, asksForOwner: true) == .unknownClient)
        for slow: (inout Rule) -> Void in [
            { $0.steps = [.delay(.seconds(1))] }, { $0.throttle.down = .some(1) },
        ] {
            let plan = try Self.plan { rule in
                rule.respond = answer
                slow(&rule)
            }
            #expect(atMatch(plan) == .demand)
        }
    }

    @Test func `what the plan does not say can need one too`() {
        #expect(atMatch(nil, hasLongTimeouts: false) == .shortTimeout)
        #expect(atMatch(nil, .purge) == .purge)
        #expect(atMatch(nil, .tape) == .demand)
        #expect(atMatch(nil, .tunnel) == .connect)
        for handler in [RequestHandler.rule, .cache, .origin] {
            #expect(atMatch(nil, handler) == nil)
        }
        #expect(atMatch(nil, asksForOwner: true) == .unknownClient)
    }

    @Test func `what only wants a task is met by one`() throws {
        let delay = try Self.plan { $0.steps = [.delay(.seconds(1))] }
        for handler in [RequestHandler.tunnel, .rule, .cache, .origin] {
            let need = atMatch(
                delay,
                handler,
                hasLongTimeouts: false,
                asksForOwner: true,
                in: Course()
            )
            #expect(need == nil)
        }
        #expect(atMatch(nil, .purge, in: Course()) == .purge)
        #expect(atMatch(nil, .tape, in: Course()) == .demand)
    }

    // MARK: When a response has come

    private func atResponse(_ status: UInt16, _ plan: Plan?, _ interceptor: Bool = false)
        -> Need?
    {
        Course.need(ofStatus: status, plan, hasInterceptor: interceptor)
    }

    @Test func `a response that nobody minds needs none`() throws {
        for status: UInt16 in [200, 204, 206, 301, 304, 400, 404, 500, 599] {
            #expect(atResponse(status, nil) == nil)
            #expect(try atResponse(status, Self.plan { _ in }) == nil)
        }
    }

    @Test func `a response that somebody minds needs one`() throws {
        #expect(atResponse(101, nil) == .upgrade)
        #expect(atResponse(407, nil) == .verdict)
        #expect(atResponse(200, nil, true) == .verdict)
        // What `safe` repeats is repeated without a rule, too.
        for status in UInt16(400)...599 {
            #expect(
                (atResponse(status, nil) != nil)
                    == (RetryPolicy.safe.minds(status) || status == 407)
            )
        }
        let standard = try Self.plan { $0.retry = .standard }
        #expect(atResponse(503, standard) == .verdict)
        let following = try Self.plan { $0.redirect = .some(RedirectPolicy()) }
        #expect(atResponse(200, following) == .verdict)
        let jar = try Self.plan { $0.cookieJar = .some("/jar") }
        #expect(atResponse(200, jar) == .verdict)
    }
}
