// What LupinTLS sees of OpenSSL. Function-like macros get a static inline here, nothing else.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
