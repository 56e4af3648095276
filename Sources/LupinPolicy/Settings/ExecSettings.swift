// What the file says of commands under `lupin exec`: the stand-ins that they get for credentials.

import LupinCore

/// The keys of `exec`.
package struct ExecSettings: Sendable, Equatable {
    /// A variable that holds a stand-in.
    package struct Variable: Sendable, Equatable {
        package var name: String
        /// The name under `tokens`.
        package var token: String

        package init(name: String, token: String) {
            self.name = name
            self.token = token
        }
    }

    /// In the order of the file.
    package var variables: [Variable] = []

    package init() {}
}

/// The keys of `stand_ins`.
package struct StandInSettings: Sendable, Equatable {
    /// What becomes of a request with a stand-in for a token that its rules do not name.
    package enum Elsewhere: String, SettingWord {
        /// It goes as it is, and the record says so.
        case pass
        /// 403.
        case refuse
    }

    package var elsewhere = Elsewhere.pass

    package init() {}
}

extension SettingsTable {
    static let exec: [Setting] = [
        .special(
            .execVariables,
            .map("names of variables and tokens"),
            "{}",
            "stand-ins for credentials, such as {GITHUB_TOKEN: github}"
        ),
        .choice(
            "stand_ins.elsewhere",
            \.standIns.elsewhere,
            "pass | refuse: a request with one whose token no rule of it names"
        ),
    ]
}

/// The variables that `lupin exec` sets for its command.
package enum ChildVariables {
    /// Tools disagree about the case of names, so both forms are set.
    package static let proxy = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
    package static let exceptions = ["no_proxy", "NO_PROXY"]

    /// Those that name a file with all the CAs to trust.
    package static let bundles = [
        // OpenSSL's own: Python's ssl and httpx, Ruby, PHP streams, wget2, rustls-native-certs. Go
        // and .NET read it too. SSL_CERT_DIR stays: its CAs are trusted in addition.
        "SSL_CERT_FILE",
        "NIX_SSL_CERT_FILE",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "PIP_CERT",
        "HTTPLIB2_CA_CERTS",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "AWS_CA_BUNDLE",
        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "npm_config_cafile",
        "BUNDLE_SSL_CA_CERT",
        "PERL_LWP_SSL_CA_FILE",
    ]

    /// Those that name CAs to trust in addition to the program's own.
    package static let additions = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"]

    /// Those that concern certificates or name files of lupin's.
    package static let trust =
        ["NODE_USE_ENV_PROXY"] + bundles + additions
        + ["WGETRC", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS"]

    /// All of them: no stand-in may have one of these names.
    package static let all = proxy + exceptions + trust + ["PATH"]
}
