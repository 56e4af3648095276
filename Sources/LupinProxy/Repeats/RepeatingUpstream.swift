// What a request that is forwarded without an exchange needs of the connection it goes by.
import LupinCore
import LupinIO

/// An upstream that may carry a request before there is an exchange, or without one.
protocol RepeatingUpstream: Upstream {
    /// The channel that carries it, perhaps with others.
    var source: ObjectIdentifier { get }
    /// Bytes of a body that come without anybody taking them.
    var windowBytes: Int { get }
    /// The final response's head is kept as it comes, if it comes at once.
    var keepsHead: Bool { get set }
    /// The head that was kept.
    var keptHead: KeptHead { get }

    /// Whom to call when something came.
    func attach(_ pump: any ChannelPump)
    /// Sends a GET request that is all in `head`; false where some of it still has to leave.
    /// - Throws: The connection can take no request after all.
    func begin(_ head: SentHead) throws(LupinError) -> Bool
    /// Whether the whole response is there, nothing more, and one that `forward` knows; nil while
    /// nobody can say.
    ///
    /// Nothing of it is consumed.
    func holdsResponse(of forward: RepeatedForward) -> Bool?
    /// Where the body lies that `holdsResponse` found.
    func body(of forward: RepeatedForward) -> (buffer: InputBuffer, place: Range<Int>)
    /// Has `forward` say the Date of the response that `holdsResponse` found.
    func tellDate(to forward: RepeatedForward, second: Int64)
    /// Ends the hold after a response that `holdsResponse` found, all of which is there.
    func endRepeat(to pool: UpstreamPool)
}
