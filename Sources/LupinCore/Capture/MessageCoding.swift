// Whether the messages of a body are compressed one by one, so that the body itself has no coding.

extension FieldSection {
    /// The coding of the messages of a gRPC or Connect body; nil where they are as they are.
    ///
    /// A message in such a body may be compressed (gRPC over HTTP/2, "Message-Encoding"; Connect,
    /// "Connect-Content-Encoding"), whatever Content-Encoding says.
    package var messageCoding: String? {
        guard let type = value(of: .contentType)?.lowercased() else { return nil }
        let name: String
        if type.hasPrefix("application/grpc") {
            name = "grpc-encoding"
        } else if type.hasPrefix("application/connect+") {
            name = "connect-content-encoding"
        } else {
            return nil
        }
        return values(of: name).first { $0.lowercased() != "identity" }
    }
}
