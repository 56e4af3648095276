// Which media type a file has, by the ending of its name.

package enum MediaTypes {
    /// The value of Content-Type for the file at `path`; `application/octet-stream` for an ending
    /// that is not known.
    ///
    /// Texts are UTF-8. The types are those of IANA's registry.
    package static func type(ofFile path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."),
            let type = byEnding[name[name.index(after: dot)...].lowercased()]
        else { return "application/octet-stream" }
        return type.hasPrefix("text/") ? "\(type); charset=utf-8" : type
    }

    private static let byEnding: [String: String] = [
        "avif": "image/avif", "bin": "application/octet-stream", "bmp": "image/bmp",
        "css": "text/css", "csv": "text/csv", "eot": "application/vnd.ms-fontobject",
        "gif": "image/gif", "gz": "application/gzip", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon", "jar": "application/java-archive",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "jsonl": "application/jsonl",
        "jsonld": "application/ld+json", "m4a": "audio/mp4", "m4s": "video/iso.segment",
        "map": "application/json", "md": "text/markdown", "mjs": "text/javascript",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpd": "application/dash+xml",
        "m3u8": "application/vnd.apple.mpegurl", "oga": "audio/ogg", "ogg": "audio/ogg",
        "otf": "font/otf", "pdf": "application/pdf", "pem": "application/x-pem-file",
        "png": "image/png", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tgz": "application/gzip", "toml": "application/toml", "ts": "video/mp2t",
        "ttf": "font/ttf", "txt": "text/plain", "wasm": "application/wasm",
        "wav": "audio/wav", "weba": "audio/webm", "webm": "video/webm",
        "webmanifest": "application/manifest+json", "webp": "image/webp", "woff": "font/woff",
        "woff2": "font/woff2", "xhtml": "application/xhtml+xml", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
