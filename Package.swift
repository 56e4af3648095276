// swift-tools-version: 6.2
// The floor plan as a build file: imports go down only, and never sideways on floor 2.
import PackageDescription

/// What every lupin target is compiled with.
///
/// No `unsafeFlags`: they would bar others from depending on our libraries.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// What `docker/build-small.sh` made for a small program; nil for every other build.
///
/// Only then are there unsafe flags for libraries, so others may depend on ours.
let smallParts = Context.environment["LUPIN_SMALL"]

/// What modules are compiled with that no request waits for: a small program has them optimised
/// for size.
let cold: [SwiftSetting] =
    smallParts == nil
    ? strict : strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// What ArgumentParser uses of Foundation.
///
/// It is named here, as only modules that were compiled for static libraries name it themselves. A
/// small program has a part of its own in its place, the static libraries beside that, and no
/// tables for unwinding the stack.
let foundation =
    if let smallParts {
        [
            "-Xlinker", "\(smallParts)/FoundationEssentials.o", "-Xlinker",
            "\(smallParts)/libyaml.a", "-Xlinker", "-T", "-Xlinker",
            "\(Context.packageDirectory)/docker/small/no-unwinding.ld", "-Xlinker",
            "--no-eh-frame-hdr",
        ]
    } else {
        ["-lFoundationEssentials", "-l_FoundationCShims", "-l_FoundationCollections"]
    }

/// The program carries Swift's libraries in itself.
///
/// Calls to them are direct then, above all those that count references: 4 % less for a small
/// request. For a small program, what nothing refers to is left out, functions with the same code
/// are one unless their addresses are compared, no symbol is exported, and relocations are packed
/// (glibc 2.36 reads that). No library is made of the target with these flags, so others may depend
/// on those.
let selfContained: [LinkerSetting] = [
    .unsafeFlags(
        foundation + [
            "-use-ld=lld", "-static-stdlib", "-lstdc++", "-Xlinker", "--gc-sections", "-Xlinker",
            "--icf=safe", "-Xlinker", "--no-export-dynamic", "-Xlinker", "-z", "-Xlinker",
            "pack-relative-relocs",
        ],
        .when(platforms: [.linux], configuration: .release)
    )
]

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "lupin",
    products: [
        .library(name: "LupinCore", targets: ["LupinCore"]),
        .library(name: "LupinProxy", targets: ["LupinProxy"]),
        .executable(name: "lupin", targets: ["lupin"]),
        .executable(name: "lupin-man", targets: ["lupin-man"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        // Floor 4
        .executableTarget(
            name: "lupin",
            dependencies: [
                "LupinProxy", "LupinUpstream", "LupinConfinement", "LupinConsole", "LupinRules",
                "LupinIO", "LupinTLS", "LupinWire", "LupinRecords", "LupinCaching", "LupinPolicy",
                "LupinCore", argumentParser, logging,
            ],
            swiftSettings: cold,
            linkerSettings: selfContained,
            plugins: ["EmbedPages"]
        ),
        // Makes the man pages of a package, and is in none.
        .executableTarget(
            name: "lupin-man",
            dependencies: ["LupinConsole", "LupinIO", "LupinCore"],
            swiftSettings: cold
        ),
        // Makes Swift of the pages of lupin.docc and of the inspector, so that neither needs files.
        .plugin(name: "EmbedPages", capability: .buildTool(), path: "Sources/EmbedPages"),

        // Floor 3
        .target(
            name: "LupinProxy",
            dependencies: [
                "LupinUpstream", "LupinConfinement", "LupinIO", "LupinTLS", "LupinWire",
                "LupinCoding", "LupinRules", "LupinStore", "LupinRedis", "LupinInspector",
                "LupinRecords", "LupinCaching", "LupinPolicy", "LupinCore", logging,
            ],
            swiftSettings: strict
        ),
        // Below the proxy on the same floor
        .target(
            name: "LupinConfinement",
            dependencies: ["LupinIO", "LupinCore", "CLinux"],
            swiftSettings: cold
        ),
        .target(
            name: "LupinUpstream",
            dependencies: [
                "LupinIO", "LupinTLS", "LupinWire", "LupinCoding", "LupinPolicy", "LupinCore",
            ],
            swiftSettings: strict
        ),

        // Floor 2
        .target(name: "LupinIO", dependencies: ["LupinCore", "CLinux"], swiftSettings: strict),
        .target(name: "LupinTLS", dependencies: ["LupinCore", "COpenSSL"], swiftSettings: strict),
        .target(name: "LupinWire", dependencies: ["LupinCore", "CNghttp2"], swiftSettings: strict),
        .target(
            name: "LupinCoding",
            dependencies: ["LupinCore", "CZlib", "CBrotli", "CZstd"],
            swiftSettings: strict
        ),
        .target(
            name: "LupinRules",
            dependencies: ["LupinPolicy", "LupinCore", "CYAML", "CLinux"],
            swiftSettings: cold
        ),
        .target(
            name: "LupinStore",
            dependencies: ["LupinCore", "CLinux", "CZlib", "CSQLite"],
            swiftSettings: cold
        ),
        .target(
            name: "LupinRedis",
            dependencies: ["LupinCore"],
            swiftSettings: strict
        ),
        .target(
            name: "LupinConsole",
            dependencies: ["LupinRecords", "LupinCaching", "LupinPolicy", "LupinCore"],
            swiftSettings: cold
        ),
        .target(
            name: "LupinInspector",
            exclude: ["page"],
            swiftSettings: cold,
            plugins: ["EmbedPages"]
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli",
            pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        // A small program has it in itself.
        .systemLibrary(
            name: "CYAML",
            pkgConfig: smallParts == nil ? "yaml-0.1" : nil,
            providers: [.apt(["libyaml-dev"])]
        ),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        // Floor 1: each above the next; records and caching don't know each other
        .target(
            name: "LupinRecords",
            dependencies: ["LupinPolicy", "LupinCore"],
            swiftSettings: strict
        ),
        .target(
            name: "LupinCaching",
            dependencies: ["LupinPolicy", "LupinCore"],
            swiftSettings: strict
        ),
        .target(name: "LupinPolicy", dependencies: ["LupinCore"], swiftSettings: strict),
        .target(name: "LupinCore", swiftSettings: strict),

        // The example of an embedding program, so that it compiles with every build: it sees of the
        // libraries what other packages see.
        .executableTarget(
            name: "EmbeddedExample",
            dependencies: ["LupinCore", "LupinProxy"],
            path: "config/examples/Sources/Embedded",
            packageAccess: false
        ),

        // Tests
        .systemLibrary(
            name: "CBrotliEncoder",
            path: "Tests/CBrotliEncoder",
            pkgConfig: "libbrotlienc",
            providers: [.apt(["libbrotli-dev"])]
        ),
        .target(
            name: "LupinTestKit",
            dependencies: [
                "LupinIO", "LupinTLS", "LupinCore", "CLinux", "COpenSSL", "CBrotliEncoder", "CZstd",
            ],
            path: "Tests/LupinTestKit",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinCoreTests",
            dependencies: ["LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinPolicyTests",
            dependencies: ["LupinPolicy", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinCachingTests",
            dependencies: ["LupinCaching", "LupinPolicy", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinRecordsTests",
            dependencies: ["LupinRecords", "LupinPolicy", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinIOTests",
            dependencies: ["LupinIO", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinTLSTests",
            dependencies: ["LupinTLS", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinWireTests",
            dependencies: ["LupinWire", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinCodingTests",
            dependencies: ["LupinCoding", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinRulesTests",
            dependencies: ["LupinRules", "LupinPolicy", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinConsoleTests",
            dependencies: [
                "LupinConsole", "LupinRules", "LupinRecords", "LupinCaching", "LupinPolicy",
                "LupinCore", "LupinTestKit",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinRedisTests",
            dependencies: ["LupinRedis", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinStoreTests",
            dependencies: ["LupinStore", "LupinCore"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinConfinementTests",
            dependencies: ["LupinConfinement", "LupinIO", "LupinCore", "LupinTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinUpstreamTests",
            dependencies: [
                "LupinUpstream", "LupinIO", "LupinTLS", "LupinWire", "LupinPolicy", "LupinCore",
                "LupinTestKit",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LupinProxyTests",
            dependencies: [
                "LupinProxy", "LupinUpstream", "LupinIO", "LupinTLS", "LupinWire", "LupinRecords",
                "LupinCaching", "LupinPolicy", "LupinCore", "LupinTestKit", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ScenarioTests",
            dependencies: [
                "LupinProxy", "LupinConfinement", "LupinIO", "LupinTLS", "LupinCoding",
                "LupinRules", "LupinStore", "LupinRecords", "LupinCaching", "LupinPolicy",
                "LupinCore", "LupinTestKit", "lupin", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "TidyTests", swiftSettings: strict),
        .target(
            name: "LupinFuzz",
            dependencies: [
                "LupinCore", "LupinPolicy", "LupinCaching", "LupinRecords", "LupinIO", "LupinTLS",
                "LupinCoding", "LupinRules", "LupinStore", "LupinRedis",
            ],
            path: "Tests/Fuzz/Readers",
            swiftSettings: strict
        ),
        .testTarget(name: "FuzzTests", dependencies: ["LupinFuzz"], swiftSettings: strict),
        .executableTarget(
            name: "fuzz-readers",
            dependencies: ["LupinFuzz"],
            path: "Tests/Fuzz/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fuzz-http1",
            dependencies: ["LupinWire", "LupinCore"],
            path: "Tests/Fuzz/HTTP1",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fuzz-http2",
            dependencies: ["LupinWire", "LupinCore"],
            path: "Tests/Fuzz/HTTP2",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "lupin-bench",
            dependencies: ["LupinIO", "LupinTLS", "LupinWire", "LupinCore", argumentParser],
            path: "Tests/Benchmarks",
            exclude: ["README.md", "instructions"],
            swiftSettings: strict
        ),
    ]
)
