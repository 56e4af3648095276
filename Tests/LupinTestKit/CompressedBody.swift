// Bodies in the codings that lupin undoes and never applies.
import CBrotliEncoder
import CZstd

package enum CompressedBody {
    /// `bytes` under brotli; with `isLarge` the window may be one that RFC 7932 does not have.
    package static func brotli(
        _ bytes: [UInt8],
        quality: Int32 = 5,
        windowBits: Int32 = 22,
        isLarge: Bool = false
    ) -> [UInt8] {
        guard let encoder = unsafe BrotliEncoderCreateInstance(nil, nil, nil) else { return [] }
        defer { unsafe BrotliEncoderDestroyInstance(encoder) }
        let parameters = [
            (BROTLI_PARAM_QUALITY, quality), (BROTLI_PARAM_LARGE_WINDOW, isLarge ? 1 : 0),
            (BROTLI_PARAM_LGWIN, windowBits),
        ]
        for (parameter, value) in parameters {
            _ = unsafe BrotliEncoderSetParameter(encoder, parameter, UInt32(value))
        }
        var left = bytes.count
        let room = bytes.count * 2 + 1024
        return unsafe [UInt8](unsafeUninitializedCapacity: room) { target, count in
            unsafe bytes.withUnsafeBufferPointer { source in
                var from = source.baseAddress
                var to = target.baseAddress
                var free = room
                _ = unsafe BrotliEncoderCompressStream(
                    encoder,
                    BROTLI_OPERATION_FINISH,
                    &left,
                    &from,
                    &free,
                    &to,
                    nil
                )
                count = room - free
            }
        }
    }

    /// `bytes` as one frame of zstd, which says with `isMeasured` how long its content is; 0
    /// `windowBits` leave the window to zstd.
    package static func zstd(
        _ bytes: [UInt8],
        level: Int32 = 3,
        windowBits: Int32 = 0,
        isChecked: Bool = true,
        isMeasured: Bool = true
    ) -> [UInt8] {
        guard let encoder = unsafe ZSTD_createCCtx() else { return [] }
        defer { _ = unsafe ZSTD_freeCCtx(encoder) }
        let parameters = [
            (ZSTD_c_compressionLevel, level), (ZSTD_c_windowLog, windowBits),
            (ZSTD_c_checksumFlag, isChecked ? 1 : 0), (ZSTD_c_contentSizeFlag, isMeasured ? 1 : 0),
        ]
        for (parameter, value) in parameters {
            _ = unsafe ZSTD_CCtx_setParameter(encoder, parameter, value)
        }
        let room = ZSTD_compressBound(bytes.count)
        return unsafe [UInt8](unsafeUninitializedCapacity: room) { target, count in
            unsafe bytes.withUnsafeBufferPointer { source in
                let size = unsafe ZSTD_compress2(
                    encoder,
                    target.baseAddress,
                    room,
                    source.baseAddress,
                    bytes.count
                )
                count = ZSTD_isError(size) == 0 ? size : 0
            }
        }
    }

    /// A frame of zstd that decoders skip (RFC 8878 §3.1.2).
    package static func skippable(_ bytes: [UInt8]) -> [UInt8] {
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return [0x50, 0x2A, 0x4D, 0x18]
            + (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
            + bytes
    }
}
