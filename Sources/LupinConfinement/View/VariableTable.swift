// Which variables name what a home has, or what holds credentials, in another place.

/// Folders and files of tools that variables name.
package enum VariableTable {
    /// Variables that name a folder of the home elsewhere: what of it is secret, or is written, is
    /// so there, too.
    package static let folders: [(variable: String, folder: String)] = [
        ("ASDF_DATA_DIR", ".asdf"), ("ASDF_DIR", ".asdf"), ("BUNDLE_USER_CACHE", ".bundle/cache"),
        ("BUN_INSTALL", ".bun"), ("BUN_INSTALL_CACHE_DIR", ".bun/install/cache"),
        ("CABAL_DIR", ".cabal"), ("CARGO_HOME", ".cargo"), ("CCACHE_DIR", ".cache/ccache"),
        ("COMPOSER_CACHE_DIR", ".composer/cache"), ("CONDA_PREFIX", "miniconda3"),
        ("DENO_DIR", ".cache/deno"), ("GEM_HOME", ".gem"), ("GOCACHE", ".cache/go-build"),
        ("GOMODCACHE", "go/pkg/mod"), ("GOPATH", "go"), ("GRADLE_USER_HOME", ".gradle"),
        ("HF_HOME", ".cache/huggingface"), ("IVY_HOME", ".ivy2"), ("JULIA_DEPOT_PATH", ".julia"),
        ("MAVEN_USER_HOME", ".m2"), ("MISE_DATA_DIR", ".local/share/mise"), ("MIX_HOME", ".mix"),
        ("MYPY_CACHE_DIR", ".cache/mypy"), ("NPM_CONFIG_CACHE", ".npm"),
        ("NPM_CONFIG_PREFIX", ".npm-global"), ("NUGET_PACKAGES", ".nuget/packages"),
        ("NVM_DIR", ".nvm"), ("OPAMROOT", ".opam"), ("PIPX_HOME", ".local/share/pipx"),
        ("PIP_CACHE_DIR", ".cache/pip"), ("PIXI_HOME", ".pixi"),
        ("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright"), ("PNPM_HOME", ".local/share/pnpm"),
        ("POETRY_CACHE_DIR", ".cache/pypoetry"), ("PRE_COMMIT_HOME", ".cache/pre-commit"),
        ("PUB_CACHE", ".pub-cache"), ("PUPPETEER_CACHE_DIR", ".cache/puppeteer"),
        ("PYENV_ROOT", ".pyenv"), ("RBENV_ROOT", ".rbenv"), ("RUFF_CACHE_DIR", ".cache/ruff"),
        ("RUSTUP_HOME", ".rustup"), ("SCCACHE_DIR", ".cache/sccache"), ("SDKMAN_DIR", ".sdkman"),
        ("STACK_ROOT", ".stack"), ("UV_CACHE_DIR", ".cache/uv"), ("VOLTA_HOME", ".volta"),
        ("YARN_CACHE_FOLDER", ".cache/yarn"), ("YARN_GLOBAL_FOLDER", ".yarn"),
        ("npm_config_cache", ".npm"), ("npm_config_prefix", ".npm-global"),
    ]

    /// Variables that name settings, which are shown if each line is known to be harmless.
    package static let examined: [(variable: String, tool: ToolSettings.Tool)] = [
        ("GIT_CONFIG_GLOBAL", .git), ("GIT_CONFIG_SYSTEM", .git),
    ]

    /// Variables that name files and folders with credentials, or with settings that may hold some.
    package static let secrets = [
        // Of users
        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "ZDOTDIR", "BASH_ENV",
        // Keys, passwords and tickets
        "GNUPGHOME", "SSH_KEY", "SSH_KEY_PATH", "PASSWORD_STORE_DIR", "SOPS_AGE_KEY_FILE",
        "KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME", "X509_USER_PROXY", "SSLKEYLOGFILE",
        "ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_CONFIG", "VAULT_TOKEN_FILE", "VAULT_CONFIG_PATH",
        "RESTIC_PASSWORD_FILE", "BORG_KEYS_DIR", "BORG_PASSPHRASE_FILE", "BW_SESSION_FILE",
        "BITWARDENCLI_APPDATA_DIR", "OP_CONFIG_DIR",
        // Clients
        "NETRC", "CURL_HOME", "WGETRC", "RCLONE_CONFIG", "PGPASSFILE", "PGSERVICEFILE",
        "MYSQL_TEST_LOGIN_FILE", "REDISCLI_RCFILE", "PSQLRC", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR",
        // Packages
        "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "NPM_CONFIG_GLOBALCONFIG",
        "npm_config_globalconfig", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "UV_CREDENTIALS_DIR",
        "POETRY_CONFIG_DIR", "CONDARC", "BUNDLE_USER_CONFIG", "BUNDLE_USER_HOME",
        "BUNDLE_APP_CONFIG", "COMPOSER_HOME", "GOENV", "SBT_CREDENTIALS", "CABAL_CONFIG",
        "NIX_USER_CONF_FILES", "HEX_HOME", "TWINE_CONFIG_FILE", "RATTLER_AUTH_FILE", "CONAN_HOME",
        "SBT_GLOBAL_BASE", "ANDROID_USER_HOME", "DOTENV_CONFIG_PATH",
        // Clouds and containers
        "KUBECONFIG", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "HELM_CONFIG_HOME",
        "HELM_REGISTRY_CONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CONFIG_DIR", "AZURE_FEDERATED_TOKEN_FILE", "OCI_CLI_CONFIG_FILE",
        "TF_CLI_CONFIG_FILE", "PULUMI_HOME", "DATABRICKS_CONFIG_FILE", "SNOWFLAKE_HOME",
        "MC_CONFIG_DIR", "DBT_PROFILES_DIR", "BOTO_CONFIG", "S3CMD_CONFIG",
        "CONSUL_HTTP_TOKEN_FILE",
        // Models and agents
        "HF_TOKEN_PATH", "HF_STORED_TOKENS_PATH", "KAGGLE_CONFIG_DIR", "WANDB_CONFIG_DIR",
        "CODEX_HOME", "CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR",
        "COPILOT_HOME", "GEMINI_CLI_HOME",
    ]

    /// The paths in a variable: kinds of tickets have a prefix, and some variables are lists.
    package static func paths(in value: String, home: String) -> [String] {
        value.split(separator: ":").map { path in
            path.hasPrefix("~/") ? home + path.dropFirst() : String(path)
        }
    }

    /// Whether a folder of a home has secrets.
    package static func hasSecrets(_ folder: String) -> Bool {
        ToolContents.names(folder)
            || HomeTable.secrets.contains { CanonicalPath.isWithin($0, folder) }
    }

    /// What the table of a home says about a folder of it that lies elsewhere.
    ///
    /// What is secret comes first, so that it stays so.
    package static func entries(
        of folder: String,
        at path: String,
        exists: (String) -> Bool,
        list: CredentialCopies.List
    ) -> [ViewEntry] {
        func below(_ names: [String]) -> [String] {
            names.filter { $0.hasPrefix(folder + "/") }.map { path + $0.dropFirst(folder.count) }
        }
        return below(HomeTable.secrets).map { ViewEntry(.absent, $0) }
            + below(HomeTable.dropped).filter(exists).map { ViewEntry(.dropped, $0) }
            + ToolContents.entries(of: folder, at: path, list: list)
            + (HomeTable.drops(folder) ? [ViewEntry(.dropped, path)] : [])
    }
}
