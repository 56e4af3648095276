// What LupinCoding and LupinStore see of zlib. Function-like macros get a static inline here, nothing else.
#pragma once
/// Input is only read, and so is const.
#define ZLIB_CONST
#include <zlib.h>

static inline int zlib_deflate_init(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

static inline int zlib_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
