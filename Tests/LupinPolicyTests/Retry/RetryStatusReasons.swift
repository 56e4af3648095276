// Why each status is repeated or delivered, in a sentence each.

/// The statuses of errors that are registered, in order.
enum RetryStatusReasons {
    static let all: [(status: UInt16, reason: String)] = client + server

    private static let client: [(status: UInt16, reason: String)] = [
        (400, "The request is wrong and stays so."),
        (401, "Credentials are wanted; a rule's token is fetched anew, which is no retry."),
        (402, "Paying is the user's to do."),
        (403, "The origin understood and refused."),
        (404, "It is not there, and asking does not bring it."),
        (405, "The method stays the same."),
        (406, "What the client accepts stays the same."),
        (407, "A parent proxy wants credentials, which are in the settings or nowhere."),
        (408, "The origin waited too long; on an idle connection it meant the silence before."),
        (409, "The state of the resource has to change first, which the client has to see."),
        (410, "It is gone for good."),
        (411, "The framing of the request stays the same."),
        (412, "The client's own condition has failed, which is an answer."),
        (413, "The body stays as large."),
        (414, "The URL stays as long."),
        (415, "The format stays the same."),
        (416, "The range stays outside."),
        (417, "The expectation stays the same."),
        (421, "The connection was the wrong one, and nothing was done (RFC 9110 §15.5.20)."),
        (422, "The content stays the same."),
        (423, "Somebody holds a lock, for as long as they like."),
        (424, "It failed because something before it has."),
        (425, "Early data may be replayed, so the origin did nothing (RFC 8470 §5.2)."),
        (426, "Another protocol is demanded, which the client has to speak."),
        (428, "A condition is demanded, which the client has to know."),
        (429, "There were too many requests: another one only if the origin says when."),
        (431, "The fields stay as large."),
        (451, "The law stays the same."),
    ]

    private static let server: [(status: UInt16, reason: String)] = [
        (500, "Something went wrong there, perhaps this once; Alamofire repeats it."),
        (501, "The origin can't do it, and will not learn it soon."),
        (502, "A gateway had no good answer; the next one may find a server that has."),
        (503, "Overloaded or in maintenance, for a while: it may say for how long."),
        (504, "A gateway waited in vain; the next one may find a server that is quicker."),
        (505, "The version stays the same."),
        (506, "The origin's negotiation is configured wrongly."),
        (507, "The disk is full until somebody makes room."),
        (508, "A loop goes round again."),
        (510, "An extension is demanded that the request does not have."),
        (511, "The network wants a login in a browser."),
    ]
}
