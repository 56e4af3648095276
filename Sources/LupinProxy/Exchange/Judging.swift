// What an exchange tells those that decide about its attempts, and what it does for them.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

extension Attempt: JudgedAttempt {
    var keptBody: [UInt8]? { replay?.wholeInMemory }
}

extension Exchange: JudgeClient {
    var program: (any RequestInterceptor)? { resources.shared.interceptor }
    var redirectHandler: (any RedirectHandler)? { resources.shared.redirectHandler }
    var hasUser: Bool { client.user != nil }
    var isForOneClient: Bool { upstream?.isForOneClient == true }
    var attemptsCount: Int { attempts.count }
    var wallNow: Int64 { resources.wallNow }

    func note(_ validation: ValidationRecord) { record.validation = validation }
    func note(_ redirect: RedirectRecord) { record.redirects = record.redirects + [redirect] }
    func deadline(in time: Duration) -> UInt64 { slot.loop.deadline(in: time) }
    func chance() -> UInt64 { resources.chance() }
    func cleaned(_ text: String) -> String { resources.redactor.cleaned(text) }
}
