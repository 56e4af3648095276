// The subject of rules: the client's original request, or a CONNECT.

package import LupinCore

/// The properties that a rule may test.
///
/// All of them are from the client's original request: steps never change which rules match.
package struct MatchSubject: Sendable {
    package var method: Method
    /// For a CONNECT it is `.https`, which the tunnel most likely carries.
    package var scheme: Scheme
    package var host: Host
    package var port: UInt16
    /// Path and query, a range of `fields.storage`; empty means `/`.
    package var pathAndQuery: ByteRange
    package var fields: FieldSection
    package var client: IPAddress
    /// The client's program; only looked up if `RuleSet.needsProgram`.
    package var program: String?
    /// The authenticated user; nil when no authentication was required.
    package var user: String?
    package var isConnect: Bool

    package init(
        method: Method,
        scheme: Scheme,
        host: Host,
        port: UInt16,
        pathAndQuery: ByteRange,
        fields: FieldSection,
        client: IPAddress,
        program: String?,
        user: String? = nil,
        isConnect: Bool
    ) {
        self.method = method
        self.scheme = scheme
        self.host = host
        self.port = port
        self.pathAndQuery = pathAndQuery
        self.fields = fields
        self.client = client
        self.program = program
        self.user = user
        self.isConnect = isConnect
    }

    /// Creates the subject for a request to `origin` with `head`.
    package init(
        _ head: RequestHead,
        origin: Origin,
        client: IPAddress,
        program: String?,
        user: String? = nil
    ) {
        method = head.method
        scheme = origin.scheme
        host = origin.host
        port = origin.port
        pathAndQuery = head.pathAndQuery
        fields = head.fields
        self.client = client
        self.program = program
        self.user = user
        isConnect = head.method == .connect
    }
}
