// `Basic` credentials for a parent proxy (RFC 7617).
import LupinCore

enum BasicCredentials {
    /// The value of Proxy-Authorization for `user:password`.
    static func field(_ userinfo: String) -> String {
        "Basic " + Base64Text.encode(Array(userinfo.utf8))
    }
}
