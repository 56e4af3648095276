// Which of cargo's settings are known to hold no credential.

import LupinCore

/// The tables and keys of `config.toml`; all others are not known to be harmless.
enum CargoSettingsTable {
    static func verdict(_ entry: SettingsEntry) -> SettingsVerdict {
        let path = entry.path
        let value = entry.value
        guard let table = path.first, let key = path.last,
            path.allSatisfy(SettingsText.isPlain)
        else { return .doubtful }
        if table == "include" { return SettingsText.isPlain(value) ? .include : .doubtful }
        let isHarmless =
            switch table {
            // A commit is as long as a token.
            case "source", "patch": key == "rev" || isKnown(key, value)
            case "http" where key == "proxy": SettingsText.isPlain(value) && !value.contains("@")
            case "registry", "registries": registry.contains(key) && SettingsText.isPlain(value)
            case "env": isKnown(variable: path.count > 1 ? path[1] : "", value)
            default: tables.contains(table) && isKnown(key, value)
            }
        return isHarmless ? .harmless : .doubtful
    }

    private static func isKnown(_ key: String, _ value: String) -> Bool {
        !SettingsText.namesSecret(key) && SettingsText.isHarmless(value)
    }

    /// A variable of a tool that builds; its value may be a table with `force` and `relative`.
    private static func isKnown(variable name: String, _ value: String) -> Bool {
        (variables.contains(name) || variableBeginnings.contains(where: name.hasPrefix))
            && isKnown(name, value)
    }

    private static let tables: Set<String> = [
        "alias", "build", "cache", "cargo-new", "doc", "future-incompat-report", "http", "install",
        "lints", "net", "paths", "profile", "resolver", "target", "term", "unstable",
    ]
    /// The programs that know credentials are named by these, too.
    private static let registry: Set<String> = [
        "default", "index", "protocol", "credential-provider", "global-credential-providers",
    ]
    private static let variables: Set<String> = [
        "AR", "CC", "CXX", "LD", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE", "CMAKE_GENERATOR",
        "LIBCLANG_PATH", "CLANG_PATH", "LLVM_CONFIG_PATH", "PROTOC", "PROTOC_INCLUDE", "PKG_CONFIG",
        "PKG_CONFIG_PATH", "PKG_CONFIG_ALLOW_CROSS", "MACOSX_DEPLOYMENT_TARGET", "SQLX_OFFLINE",
        "SCCACHE_DIR", "TS_RS_EXPORT_DIR", "PYO3_PYTHON", "JEMALLOC_SYS_WITH_LG_PAGE",
    ]
    private static let variableBeginnings = [
        "CARGO_", "RUST_", "RUSTC", "RUSTFLAGS", "RUSTDOC", "OPENSSL_", "CC_", "CXX_", "AR_",
        "CFLAGS_", "CXXFLAGS_", "BINDGEN_",
    ]
}
