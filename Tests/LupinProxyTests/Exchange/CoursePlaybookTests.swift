// Plays the scripts of exchanges on the course that the engine asks, each within microseconds.
import LupinCore
import LupinPolicy
import LupinProxy
import Testing

struct CoursePlaybookTests {
    @Test(arguments: Playbook.all)
    func `an exchange takes the course of its playbook`(playbook: Playbook) throws {
        var course = Course()
        if playbook.isTaskless { course.leaveToEvents() }
        for (number, line) in playbook.lines.enumerated() {
            let need = try line.happening.happens(to: &course)
            #expect(need == line.need, "line \(number + 1): \(line.happening)")
            #expect(course.phase == line.phase, "line \(number + 1): \(line.happening)")
        }
    }

    @Test func `every playbook is another one, and each phase is in some`() {
        let names = Playbook.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(Playbook.all.flatMap(\.lines).map(\.phase)) == Set(Phase.allCases))
    }

    @Test func `the request of an attempt is made once, on every way`() {
        for playbook in Playbook.all {
            var isMade = false
            for line in playbook.lines {
                switch line.happening {
                case .isPrepared:
                    #expect(!isMade, "\(playbook.name)")
                    isMade = true
                case .isDecided, .callerAsks: isMade = false
                default: break
                }
            }
        }
    }
}

extension Happening {
    /// - Returns: What the exchange needs then.
    fileprivate func happens(to course: inout Course) throws -> Need? {
        switch self {
        case .arrives(let method, let password, let program):
            return course.arrived(
                method,
                asksForPassword: password,
                isWebSocket: false,
                expectsContinue: false,
                hasInterceptor: program
            )
        case .arrivesWaiting(let method, let webSocket, let expects):
            return course.arrived(
                method,
                asksForPassword: false,
                isWebSocket: webSocket,
                expectsContinue: expects,
                hasInterceptor: false
            )
        case .isAdmitted: course.admitted()
        case .matches(let handler, let demand, let owner):
            return course.matched(
                try demand.plan,
                handler,
                hasLongTimeouts: demand != .shortTimeout,
                asksForOwner: owner
            )
        case .passes(let handler, let owner):
            return course.permitted(handler, asksForOwner: owner)
        case .memoryMisses(let asksOthers): return course.missed(areOthersAsked: asksOthers)
        case .callerAsks: course.beginAttempts()
        case .isPrepared: course.prepared()
        case .wantsConnection(let upgrade): return course.connects(isUpgrade: upgrade)
        case .isSent: course.sending()
        case .breaks: return course.broke()
        case .isDecided(let decision): course.decided(decision)
        case .isPresented: course.presented()
        case .bodyWaits(let clientGone, let uploadFailed):
            return course.relays(isClientGone: clientGone, hasUploadFailed: uploadFailed)
        case .bodyEnds: course.delivered()
        case .clientIsServed(let uploadGoesOn): return course.finished(uploadGoesOn: uploadGoesOn)
        case .fails: course.fail()
        case .isEnclosed: course.intercept()
        case .ends: course.end()
        case .isPromoted: course.leaveToTask()
        }
        return nil
    }
}

extension Happening.Demand {
    fileprivate var plan: Plan? {
        get throws {
            switch self {
            case .nothing, .shortTimeout: return nil
            case .steps:
                return try .of { $0.steps = [.set(name: "X-A", value: Template([.text("1")]))] }
            case .delay: return try .of { $0.steps = [.delay(.seconds(1))] }
            case .file: return try .of { $0.respond = .file }
            }
        }
    }
}

extension CannedResponse {
    fileprivate static var file: CannedResponse {
        var canned = CannedResponse(status: 200)
        canned.content = .file("/a.json")
        return canned
    }
}

extension Plan {
    /// The plan of one rule that matches everything.
    static func of(_ body: (inout Rule) -> Void) throws -> Plan {
        var rule = Rule(name: "r", line: 1, matches: [Match()])
        body(&rule)
        let host = try #require(Host("x.dev"))
        let origin = Origin(scheme: .http, host: host, port: 80)
        let subject = MatchSubject(
            RequestHead(),
            origin: origin,
            client: .v4(0x7F00_0001),
            program: nil
        )
        return RuleSet([rule]).plan(for: subject)
    }
}
