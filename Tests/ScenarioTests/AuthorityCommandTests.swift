// `lupin ca` on somebody's machine: the authority is made, shown, exported, installed and gone.
import Foundation
import LupinTLS
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct AuthorityCommandTests {
    private let fixture: CommandFixture

    init() throws { fixture = try CommandFixture() }

    private var certificateFile: String { "\(fixture.home)/.config/lupin/ca.pem" }
    private var keyFile: String { "\(fixture.home)/.config/lupin/ca.key" }
    private var anchors: String { "\(fixture.image)/usr/local/share/ca-certificates" }

    /// The authority's certificate; makes it.
    private func make() throws -> Certificate {
        #expect(try fixture.run("ca", "create").code == 0)
        let text = try #require(fixture.content(certificateFile))
        return try Certificate.parse(pem: Array(text.utf8).span)
    }

    private func digits(_ certificate: Certificate) -> String {
        certificate.fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The name that everything of this certificate has in stores.
    private func name(_ certificate: Certificate) -> String {
        "lupin-\(digits(certificate).prefix(16))"
    }

    // MARK: The authority itself

    @Test func `create makes an authority once and keeps it`() throws {
        let first = try fixture.run("ca", "create")
        #expect(first.code == 0)
        #expect(first.output.contains("made CN=lupin local authority ("))
        #expect(first.output.contains(certificateFile) && first.output.contains(keyFile))
        let text = fixture.content(certificateFile)
        let second = try fixture.run("ca", "create")
        #expect(second.code == 0)
        #expect(second.output == "kept the CA that is there: \(certificateFile)\n")
        #expect(fixture.content(certificateFile) == text)
    }

    @Test func `show says what the authority is and ends with 1 without one`() throws {
        let none = try fixture.runAlone("ca", "show")
        #expect(none.code == 1)
        #expect(none.errors.contains("there is no CA at \(certificateFile) yet"))
        let certificate = try make()
        let shown = try fixture.runAlone("ca", "show", "--root", fixture.image)
        #expect(shown.code == 0)
        let pin = "sha256/" + Data(certificate.publicKeyDigest).base64EncodedString()
        #expect(shown.output.contains(pin))
        #expect(shown.output.contains(certificate.subjectText))
        #expect(shown.output.contains("installed in nowhere"))
        let colons = shown.output.filter { $0 != ":" }.lowercased()
        #expect(colons.contains(digits(certificate)))
    }

    @Test func `show says why an authority can't be used`() throws {
        _ = try make()
        try fixture.remove(keyFile)
        let shown = try fixture.runAlone("ca", "show", "--root", fixture.image)
        #expect(shown.code == 1)
        #expect(shown.output.contains("CN=lupin local authority"))
        #expect(shown.errors.contains("restore the key"))
    }

    @Test func `export writes the certificate in each form and never the key`() throws {
        let certificate = try make()
        let pem = try fixture.run("ca", "export")
        #expect(pem.code == 0)
        #expect(Array(pem.output.utf8) == certificate.pem)
        let file = "\(fixture.home)/out"
        #expect(try fixture.run("ca", "export", "der", "--out", file).code == 0)
        #expect(FileManager.default.contents(atPath: file).map(Array.init) == certificate.der)
        try fixture.write(Array("secret words\nno more".utf8), "\(fixture.home)/password")
        let sealed = try fixture.run(
            "ca",
            "export",
            "p12",
            "--out",
            file,
            "--password-file",
            "\(fixture.home)/password"
        )
        #expect(sealed == Lupin.Result(code: 0, output: "", errors: ""))
        let bytes = try #require(FileManager.default.contents(atPath: file))
        #expect(bytes.first == 0x30)
        #expect(bytes.range(of: Data(certificate.der)) != nil)
    }

    @Test(arguments: [
        ["export", "jks"], ["export", "der", "--password-file", "a"], ["install", "--only", "mac"],
        ["install", "--root", "image"], ["uninstall", "--fingerprint", "12"],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        #expect(try Lupin.run(["ca"] + arguments).code == 64)
    }

    // MARK: Bypasses

    @Test func `what a running lupin tunnels for want of trust is decrypted again`() throws {
        try makeImage()
        let certificate = try make()
        let rules = try fixture.folder.write(
            "lupin.yaml",
            """
            lupin: 1
            log: off
            listen: [{address: 127.0.0.1:0}]
            rules: [{match: 127.0.0.1, request: [{set: {X-A: b}}]}]

            """
        )
        let homes = ["HOME": fixture.home, "XDG_CONFIG_HOME": "\(fixture.home)/.config"]
        let running = try RunningLupin("--rules", rules, environment: homes)
        let origin = try PlayedOrigin()
        func isBypassed() throws -> Bool {
            let client = try ScriptedClient(to: .loopback(port: running.port))
            defer { client.close() }
            let response = try client.connect(origin.authority)
            #expect(response.status == 200)
            return response["Lupin-Bypass"] != nil
        }
        let client = try ScriptedClient(to: .loopback(port: running.port))
        #expect(try client.connect(origin.authority).status == 200)
        var choosy = SecureSocket.Client("127.0.0.1")
        choosy.verdict = .refused(.unknownAuthority)
        #expect(throws: TLSFailure.self) { try client.secure(choosy) }
        _ = try running.nextLine()
        #expect(try isBypassed())
        var environment = homes
        environment["PATH"] = "\(fixture.programs):/usr/bin:/bin"
        environment["TMPDIR"] = fixture.folder.path
        environment["XDG_RUNTIME_DIR"] = running.runtime.path
        let arguments = ["ca", "install", "--only", "system", "--root", fixture.image]
        #expect(try Lupin.run(arguments, environment: environment).code == 0)
        #expect(fixture.content("\(anchors)/\(name(certificate)).crt") != nil)
        #expect(try !isBypassed())
    }

    // MARK: The system

    /// An image of Debian whose updates are written down.
    private func makeImage(updateCode: Int = 0) throws {
        try fixture.makeFolder(anchors)
        let script = "echo \"$@\" >> \"$place/updates\"; echo words; exit \(updateCode)"
        try fixture.install("chroot", script)
    }

    @Test func `the store of an image gets the authority and loses it again`() throws {
        try makeImage()
        let certificate = try make()
        try fixture.write([1], "\(anchors)/other.crt")
        let installed = try fixture.run(
            "ca",
            "install",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(installed.code == 0)
        let file = "\(anchors)/\(name(certificate)).crt"
        #expect(installed.output.contains("system: added \(file)"))
        #expect(installed.output.contains("undo: sudo rm \(file) && "))
        #expect(fixture.content(file).map { Array($0.utf8) } == certificate.pem)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o644)
        let shown = try fixture.runAlone("ca", "show", "--root", fixture.image)
        #expect(shown.output.contains("installed in \(file)"))
        let removed = try fixture.run(
            "ca",
            "uninstall",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(removed.code == 0)
        #expect(removed.output.contains("system: removed \(file)"))
        #expect(fixture.names(anchors) == ["other.crt"])
        let update = "\(fixture.image) update-ca-certificates"
        #expect(
            fixture.content("\(fixture.folder.path)/updates") == "\(update)\n\(update) --fresh\n"
        )
    }

    @Test func `an update that fails leaves nothing behind`() throws {
        try makeImage(updateCode: 3)
        _ = try make()
        let installed = try fixture.run(
            "ca",
            "install",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(installed.code == 1)
        #expect(installed.output.contains("failed: "))
        #expect(installed.output.contains("ended with 3: words"))
        #expect(fixture.names(anchors) == [])
    }

    @Test func `a file of somebody else under our name stays`() throws {
        try makeImage()
        let file = "\(anchors)/\(name(try make())).crt"
        try fixture.write([1], file)
        let removed = try fixture.run(
            "ca",
            "uninstall",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(removed.code == 0)
        #expect(removed.output == "the CA is in none of the stores\n")
        #expect(fixture.content(file) == "\u{1}")
    }

    @Test func `a dry run changes nothing`() throws {
        try makeImage()
        _ = try make()
        let installed = try fixture.run(
            "ca",
            "install",
            "--only",
            "system",
            "--dry-run",
            "--root",
            fixture.image
        )
        #expect(installed.code == 0)
        #expect(installed.output.contains("system: would have added \(anchors)/lupin-"))
        #expect(fixture.names(anchors) == [])
        #expect(fixture.names("\(fixture.home)/.local") == [])
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func `a user is told the one command for root`() throws {
        try makeImage()
        _ = try make()
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: anchors)
        let installed = try fixture.run(
            "ca",
            "install",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(installed.code == 1)
        #expect(installed.output.contains("needs root; run:\n  sudo install -m 644 "))
    }

    // MARK: Browsers

    /// A certutil whose databases are folders with a file for each certificate.
    ///
    /// Like the real one it shows all that have the same subject, as those of one day have.
    private func installCertutil() throws {
        try fixture.install(
            "certutil",
            """
            verb=$1; shift
            while [ $# -gt 0 ]; do
                case "$1" in
                -d) db=${2#sql:}; shift ;;
                -n) name=$2; shift ;;
                -i) input=$2; shift ;;
                esac
                shift
            done
            case "$verb" in
            -N) : > "$db/cert9.db" ;;
            -A) cat "$input" > "$db/$name.pem" ;;
            -D) rm "$db/$name.pem" ;;
            -L) if [ "$name" ]; then cat "$db"/lupin-*.pem; else
                    echo; for i in "$db"/*.pem; do [ -f "$i" ] && basename "$i" .pem; done; :
                fi ;;
            esac
            """
        )
    }

    @Test func `browsers get the authority and lose those of earlier times too`() throws {
        try installCertutil()
        let profile = "\(fixture.home)/.mozilla/firefox/abc.default-release"
        try fixture.makeFolder(profile)
        try fixture.write([], "\(profile)/cert9.db")
        let shared = "\(fixture.home)/.pki/nssdb"
        let first = name(try make())
        let installed = try fixture.run("ca", "install", "--only", "nss")
        #expect(installed.code == 0)
        #expect(installed.output.contains("nss: made the empty database \(shared)"))
        #expect(installed.output.contains("undo: certutil -D -d sql:\(shared) -n \(first)"))
        #expect(fixture.names(profile) == ["cert9.db", "\(first).pem"])
        for file in [certificateFile, keyFile] { try fixture.remove(file) }
        let second = name(try make())
        #expect(first != second)
        try fixture.write([], "\(shared)/other.pem")
        let renewed = try fixture.run("ca", "install", "--only", "nss")
        #expect(renewed.output.contains("nss: added \(second) to \(shared)"))
        #expect(fixture.names(profile) == ["cert9.db", "\(first).pem", "\(second).pem"].sorted())
        let again = try fixture.run("ca", "install", "--only", "nss")
        #expect(again.output.contains("nss: has it already: \(profile)"))
        let removed = try fixture.run("ca", "uninstall", "--only", "nss")
        #expect(removed.code == 0)
        #expect(fixture.names(profile) == ["cert9.db"])
        #expect(fixture.names(shared) == ["cert9.db", "other.pem"])
    }

    @Test func `without certutil a sentence says what to install`() throws {
        let installed = try fixture.runAlone("ca", "install", "--only", "nss")
        #expect(installed.code == 0)
        #expect(installed.output.contains("certutil isn't installed"))
        #expect(installed.output.contains("libnss3-tools"))
        #expect(fixture.names("\(fixture.home)/.pki") == [])
    }

    // MARK: Java

    /// A keytool whose stores are folders with a file for each alias, in an image with one JDK.
    private func installKeytool(_ certificate: Certificate) throws -> String {
        let colons = certificate.fingerprint
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
            .joined(separator: ":")
        try fixture.install(
            "keytool",
            """
            case "$1" in -J*) shift ;; esac
            verb=$1; shift
            while [ $# -gt 0 ]; do
                case "$1" in
                -alias) alias=$2; shift ;;
                -keystore) store=$2; shift ;;
                -storepass) [ "$2" = changeit ] || exit 1; shift ;;
                esac
                shift
            done
            case "$verb" in
            -importcert) echo "$alias" >> "$store" ;;
            -delete) grep -vx "$alias" "$store" > "$store.new"; mv "$store.new" "$store" ;;
            -list) while read -r alias; do
                    echo "$alias, Nov 20, 2026, trustedCertEntry, "
                    echo "Certificate fingerprint (SHA-256): \(colons)"
                done < "$store" ;;
            esac
            """
        )
        let folder = "\(fixture.image)/usr/lib/jvm/java-21/lib/security"
        try fixture.makeFolder(folder)
        try fixture.write([], "\(folder)/cacerts")
        return "\(folder)/cacerts"
    }

    private func java(_ verb: String) throws -> Lupin.Result {
        try fixture.run("ca", verb, "--only", "java", "--root", fixture.image)
    }

    @Test func `a JDK gets the authority and loses it again`() throws {
        let certificate = try make()
        let store = try installKeytool(certificate)
        let installed = try java("install")
        #expect(installed.code == 0)
        #expect(installed.output.contains("java: added \(name(certificate)) to \(store)"))
        #expect(fixture.content(store) == "\(name(certificate))\n")
        #expect(try java("install").output == "java: has it already: \(store)\n")
        let removed = try java("uninstall")
        #expect(removed.output == "java: removed \(name(certificate)) from \(store)\n")
        #expect(fixture.content(store) == "")
    }

    @Test func `what the system's store gave to Java goes with that store only`() throws {
        let certificate = try make()
        let store = try installKeytool(certificate)
        let copy = "debian:\(name(certificate)).pem\n"
        try fixture.write(Array(copy.utf8), store)
        #expect(try java("install").output.contains("already, from the system's store"))
        #expect(try java("uninstall").code == 0)
        #expect(fixture.content(store) == copy)
        let removed = try fixture.run(
            "ca",
            "uninstall",
            "--only",
            "system",
            "--root",
            fixture.image
        )
        #expect(removed.code == 0)
        #expect(fixture.content(store) == "")
    }

    @Test func `a link out of an image is not followed`() throws {
        let store = try installKeytool(try make())
        try fixture.remove(store)
        try fixture.write([], "\(fixture.home)/cacerts")
        try FileManager.default.createSymbolicLink(
            atPath: store,
            withDestinationPath: "\(fixture.home)/cacerts"
        )
        #expect(try java("install").output == "java: found no JDK with keytool\n")
        #expect(fixture.content("\(fixture.home)/cacerts") == "")
    }
}
