// Encodes the chunked transfer coding (RFC 9112 §7.1): chunk lines, the last chunk, trailers.
package import LupinCore

/// Writes the framing around the data of a chunked body.
package enum ChunkedEncoder {
    /// Appends the CRLF that ends the data of a chunk.
    package static func appendChunkEnd(to output: inout [UInt8]) {
        output.append(0x0D)
        output.append(0x0A)
    }

    /// Appends the line before the data of a chunk.
    ///
    /// A chunk of size 0 would end the body: for size 0 nothing is appended, and no chunk end is
    /// needed.
    package static func appendChunkHeader(size: Int, to output: inout [UInt8]) {
        guard size > 0 else { return }
        output.appendHexadecimal(UInt64(size))
        appendChunkEnd(to: &output)
    }

    /// Appends the last chunk with the trailers that may be sent (RFC 9110 §6.5.1), if any.
    package static func appendLastChunk(
        trailers: borrowing FieldSection = FieldSection(),
        to output: inout [UInt8]
    ) {
        output.appendHead(room: trailers.writtenBytes + 8) { cursor in
            cursor.append("0\r\n" as StaticString)
            cursor.appendLines(of: trailers, without: notTrailers)
            cursor.appendLineEnd()
        }
    }

    /// What may not be a trailer; names that lupin does not know may be one.
    static let notTrailers = FieldNameSet(of: .connection, .framing, .proxy, .target, .head)
}
