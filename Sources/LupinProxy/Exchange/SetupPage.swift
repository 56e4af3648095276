// The page for setting up a shell, a browser or a phone; and the profile for iOS.
import LupinCore
import LupinTLS

/// `http://lupin/` as HTML.
struct SetupPage {
    let facts: OwnPages.Facts

    var text: String { HTMLPage(title: "lupin", body: body).text }

    private var body: String {
        """
        <h1>lupin is running</h1>
        <p>It listens on <code>\(facts.url)</code> with \(facts.rules) \
        \(facts.rules == 1 ? "rule" : "rules"), version <code>\(facts.rulesVersion)</code>.</p>
        <h2>Shell</h2>
        <pre>export http_proxy=\(facts.url) https_proxy=\(facts.url)</pre>
        <p>On this machine <code>eval "$(lupin env)"</code> does the same.</p>
        <h2>Browser or phone</h2>
        <p>Set the HTTP proxy of the network to <code>\(facts.url)</code>, or the address of the
        automatic configuration to <code>\(facts.url)/proxy.pac</code>.</p>
        <h2>HTTPS</h2>
        \(authority)
        """
    }

    private var authority: String {
        guard let authority = facts.authority else {
            return
                "<p>lupin has made no CA yet, because no rule needs to decrypt https.</p>"
        }
        return """
            <p>Rules act inside https only if the device trusts lupin's CA
            (SHA-256 <code>\(HexText.colons(authority.fingerprint))</code>):</p>
            <ul>
            <li><a href="/ca.pem">ca.pem</a> for browsers and Android: install it as a CA
            certificate.</li>
            <li><a href="/lupin.mobileconfig">lupin.mobileconfig</a> for iOS and macOS: install the
            profile, then turn on full trust for it in Settings, General, About, Certificate Trust
            Settings.</li>
            </ul>
            <p>On this machine <code>lupin ca install</code> does it for the system, browsers and
            Java.</p>
            """
    }
}

/// A configuration profile with the CA as a root (Apple, "Configuration Profile Reference").
struct MobileProfile {
    let authority: Certificate

    var text: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
        "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
          <key>PayloadContent</key>
          <array>
            <dict>
              <key>PayloadCertificateFileName</key><string>lupin.cer</string>
              <key>PayloadContent</key><data>\(Base64Text.encode(authority.der))</data>
              <key>PayloadDescription</key><string>lupin's CA certificate.</string>
              <key>PayloadDisplayName</key><string>lupin</string>
              <key>PayloadIdentifier</key><string>lupin.ca.\(identifier(0)).root</string>
              <key>PayloadType</key><string>com.apple.security.root</string>
              <key>PayloadUUID</key><string>\(identifier(0))</string>
              <key>PayloadVersion</key><integer>1</integer>
            </dict>
          </array>
          <key>PayloadDisplayName</key><string>lupin</string>
          <key>PayloadIdentifier</key><string>lupin.ca.\(identifier(0))</string>
          <key>PayloadType</key><string>Configuration</string>
          <key>PayloadUUID</key><string>\(identifier(16))</string>
          <key>PayloadVersion</key><integer>1</integer>
        </dict>
        </plist>

        """
    }

    /// A UUID (RFC 9562 §5.8: custom format) of 16 bytes of the fingerprint: the same CA gives the
    /// same profile.
    private func identifier(_ start: Int) -> String {
        var bytes = Array(authority.fingerprint.dropFirst(start).prefix(16))
        guard bytes.count == 16 else { return "" }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text: [UInt8] = []
        for (i, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(i) { text.append(0x2D) }
            text.append(hex: UInt64(byte), digits: 2)
        }
        return String(decoding: text, as: UTF8.self).uppercased()
    }
}
