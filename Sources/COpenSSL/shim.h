// What LupinTLS sees of OpenSSL. Function-like macros get a static inline here, nothing else.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

// TLS connections.
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static const uint64_t openssl_op_no_compression = SSL_OP_NO_COMPRESSION;
static const uint64_t openssl_op_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t openssl_op_server_preference = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t openssl_op_prioritize_chacha = SSL_OP_PRIORITIZE_CHACHA;

// As pointers that live as long as the process, because an OSSL_PARAM keeps them.
static inline const char *openssl_mac_key(void) { return OSSL_MAC_PARAM_KEY; }
static inline const char *openssl_mac_digest(void) { return OSSL_MAC_PARAM_DIGEST; }
static inline char *openssl_sha256(void) { return (char *)"SHA256"; }

static inline int openssl_ctx_set_min_version(SSL_CTX *ctx, int version) {
    return (int)SSL_CTX_set_min_proto_version(ctx, version);
}

static inline int openssl_ctx_set_max_version(SSL_CTX *ctx, int version) {
    return (int)SSL_CTX_set_max_proto_version(ctx, version);
}

static inline void openssl_ctx_set_mode(SSL_CTX *ctx, long mode) { SSL_CTX_set_mode(ctx, mode); }

static inline void openssl_ctx_set_cache_mode(SSL_CTX *ctx, long mode) {
    SSL_CTX_set_session_cache_mode(ctx, mode);
}

static inline int openssl_ctx_set_groups(SSL_CTX *ctx, const char *list) {
    return (int)SSL_CTX_set1_groups_list(ctx, list);
}

static inline void openssl_ctx_set_status_callback(SSL_CTX *ctx, int (*callback)(SSL *, void *)) {
    SSL_CTX_set_tlsext_status_cb(ctx, callback);
}

static inline int openssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline void openssl_ask_status(SSL *ssl) {
    SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
}

static inline long openssl_stapled_response(SSL *ssl, const unsigned char **response) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, response);
}

static inline void openssl_retry_verify(SSL *ssl) { SSL_set_retry_verify(ssl); }

static inline STACK_OF(X509) *openssl_chain_new(void) { return sk_X509_new_null(); }

static inline int openssl_chain_count(const STACK_OF(X509) *chain) { return sk_X509_num(chain); }

static inline X509 *openssl_chain_get(const STACK_OF(X509) *chain, int i) {
    return sk_X509_value(chain, i);
}

static inline int openssl_chain_push(STACK_OF(X509) *chain, X509 *certificate) {
    return sk_X509_push(chain, certificate);
}

static inline void openssl_chain_free(STACK_OF(X509) *chain) {
    sk_X509_pop_free(chain, X509_free);
}

// Keys, certificates and the local authority.
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// A distinguished name as RFC 2253 escapes it, and in ASCII, but in the order of the encoding.
static const unsigned long openssl_name_flags =
    XN_FLAG_SEP_CPLUS_SPC | XN_FLAG_FN_SN | ASN1_STRFLGS_RFC2253;

static inline EVP_PKEY *openssl_generate_ec(const char *curve) { return EVP_EC_gen(curve); }

static inline EVP_PKEY *openssl_generate_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }

static inline EVP_PKEY *openssl_generate_ed25519(void) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}

/// Lends what a memory BIO holds.
static inline long openssl_memory_contents(BIO *bio, const unsigned char **bytes) {
    return BIO_get_mem_data(bio, (char **)bytes);
}

/// A bag of PKCS#12 with one certificate that Java's stores take for trusted; null without memory.
static inline STACK_OF(PKCS12_SAFEBAG) *openssl_trusted_bags(
    X509 *certificate, const char *name, const char *attribute, ASN1_OBJECT *purpose) {
    STACK_OF(PKCS12_SAFEBAG) *bags = NULL;
    PKCS12_SAFEBAG *bag = PKCS12_add_cert(&bags, certificate);
    if (bag != NULL && PKCS12_add_friendlyname_utf8(bag, name, -1)
        && PKCS12_add1_attr_by_txt(
            bag, attribute, V_ASN1_OBJECT, (const unsigned char *)purpose, -1))
        return bags;
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
    return NULL;
}

/// A PKCS#12 file of some bags, in clear and without MAC; frees the bags.
static inline PKCS12 *openssl_pkcs12_of_bags(STACK_OF(PKCS12_SAFEBAG) *bags) {
    STACK_OF(PKCS7) *safes = NULL;
    PKCS12 *file = NULL;
    if (PKCS12_add_safe(&safes, bags, -1, 0, NULL)) file = PKCS12_add_safes(safes, 0);
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    return file;
}

// Judging certificates.
#include <openssl/ocsp.h>
#include <openssl/x509_vfy.h>

/// Ends a list that lends its certificates and holds no references.
static inline void openssl_chain_free_list(STACK_OF(X509) *chain) { sk_X509_free(chain); }
