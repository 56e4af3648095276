// `Basic` credentials for a parent proxy (RFC 7617).

enum BasicCredentials {
    /// The value of Proxy-Authorization for `user:password`.
    static func field(_ userinfo: String) -> String { "Basic " + base64(Array(userinfo.utf8)) }

    /// RFC 4648 §4, with padding.
    static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
        )
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let number = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for i in 0..<4 {
                text.append(i <= group.count ? alphabet[number >> (18 - 6 * i) & 63] : 0x3D)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
