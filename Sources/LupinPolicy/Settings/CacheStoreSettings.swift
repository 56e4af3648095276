// What the file says of the store of responses: how large it is, and where it lies.

/// The keys of `cache.store` and their defaults, in bytes.
package struct CacheStoreSettings: Sendable, Equatable {
    /// All that is kept in memory; 0 keeps nothing there.
    package var memoryBytes = 64 << 20
    /// All that is kept on disk; 0 is `off`.
    package var diskBytes = 0
    /// The folder of the disk part; nil is `lupin` below the one for caches.
    package var path: String?
    /// The largest response in memory.
    package var objectBytesMax = 8 << 20
    /// The largest response on disk.
    package var diskObjectBytesMax = 1 << 30
    /// The part that several machines share.
    package var shared = SharedStoreSettings()

    package init() {}

    /// Whether anything is kept on disk.
    package var usesDisk: Bool { diskBytes > 0 }

    /// Where the disk part lies: `path`, or `lupin` below `$XDG_CACHE_HOME`, else `~/.cache`.
    ///
    /// - Parameters:
    ///   - environment: The process's; a relative `XDG_CACHE_HOME` is ignored, as its specification
    ///     demands.
    ///   - home: The user's.
    /// - Returns: nil where nothing says it.
    package func folder(environment: [String: String], home: String?) -> String? {
        path ?? Self.defaultFolder(environment: environment, home: home)
    }

    /// Where the disk part lies unless the file says otherwise.
    package static func defaultFolder(environment: [String: String], home: String?) -> String? {
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return "\(base)/lupin" }
        return home.map { "\($0)/.cache/lupin" }
    }
}
