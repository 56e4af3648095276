// Every reader that is fuzzed here; HTTP/1.1 and HTTP/2 have programs of their own.

extension FuzzTarget {
    /// All of them, by group.
    package static let all: [FuzzTarget] =
        CacheTargets.all + FieldTargets.all + AddressTargets.all + PatternTargets.all
        + TextTargets.all + FileTargets.all + ByteTargets.all + CodingTargets.all
        + StoreTargets.all
        + ArchiveTargets.all + RedisTargets.all
}
