// Asks OpenSSL about what a rules file says of TLS, as the proxy does when it uses that.
import LupinIO
package import LupinRules
import LupinTLS

extension TLSJudgement {
    /// By the functions that make contexts and identities for connections.
    package static let openSSL = TLSJudgement(
        ciphers: { list in
            var configuration = ClientTLSConfiguration()
            configuration.ciphers = list
            do throws(TLSFailure) {
                _ = try TLSContext.client(configuration)
                return nil
            } catch {
                return error.reason
            }
        },
        identity: { certificates, key in
            do throws(TLSFailure) {
                _ = try TLSIdentity(certificates: certificates, key: key)
                return nil
            } catch {
                return error.reason
            }
        },
        expiry: { certificates in
            let leaf = try? Certificate.parse(pem: certificates.span)
            return leaf?.expiry(at: SystemCall.wallMicroseconds() / 1_000_000)
        }
    )
}
