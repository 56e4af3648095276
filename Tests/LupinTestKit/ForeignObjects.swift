// How tests mint what LupinTLS only reads: OpenSSL's own objects, freed together.
import COpenSSL
import LupinTLS

/// Why something could not be minted.
package struct MintingFailure: Error {}

/// Objects of OpenSSL that go when this one goes.
final class ForeignObjects {
    private var endings: [() -> Void] = []

    deinit { for end in endings { end() } }

    func keep(
        _ object: OpaquePointer?,
        _ free: @escaping (OpaquePointer?) -> Void
    ) throws -> OpaquePointer {
        guard let object = unsafe object else { throw MintingFailure() }
        endings.append { unsafe free(object) }
        return unsafe object
    }

    func keep<Object>(
        _ object: UnsafeMutablePointer<Object>?,
        _ free: @escaping (UnsafeMutablePointer<Object>?) -> Void
    ) throws -> UnsafeMutablePointer<Object> {
        guard let object = unsafe object else { throw MintingFailure() }
        endings.append { unsafe free(object) }
        return unsafe object
    }

    func certificate(_ certificate: Certificate) throws -> OpaquePointer {
        // Safety: the reader stays within the array.
        let parsed = unsafe certificate.der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_X509(nil, &next, bytes.count)
        }
        return unsafe try keep(parsed, X509_free)
    }

    func key(_ key: PrivateKey) throws -> OpaquePointer {
        // Safety: the BIO reads the text in place and is freed before it goes.
        let parsed: OpaquePointer? = try unsafe key.withPEM { text in
            unsafe text.withUnsafeBytes { bytes in
                let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
                defer { unsafe BIO_free(bio) }
                return unsafe PEM_read_bio_PrivateKey(bio, nil, nil, nil)
            }
        }
        return unsafe try keep(parsed, EVP_PKEY_free)
    }

    func part(_ part: CertificateBuilder.Extension) throws -> OpaquePointer {
        // Safety: the extension copies identifier and data.
        let identifier = unsafe try keep(OBJ_txt2obj(part.identifier, 1), ASN1_OBJECT_free)
        let data = unsafe try keep(ASN1_OCTET_STRING_new(), ASN1_OCTET_STRING_free)
        unsafe ASN1_OCTET_STRING_set(data, part.der, Int32(part.der.count))
        return unsafe try keep(
            X509_EXTENSION_create_by_OBJ(nil, identifier, part.isCritical ? 1 : 0, data),
            X509_EXTENSION_free
        )
    }

    func time(_ seconds: Int64) throws -> UnsafeMutablePointer<ASN1_TIME> {
        unsafe try keep(ASN1_GENERALIZEDTIME_set(nil, Int(seconds)), ASN1_GENERALIZEDTIME_free)
    }

    static func encoding(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws -> [UInt8] {
        var encoding: UnsafeMutablePointer<UInt8>?
        // Safety: OpenSSL allocates the encoding, which is freed here.
        let length = unsafe write(&encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, length > 0 else { throw MintingFailure() }
        return unsafe Array(UnsafeBufferPointer(start: encoding, count: Int(length)))
    }
}
