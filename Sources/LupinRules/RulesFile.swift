// Loads a rules file to a checked configuration: finds it, decodes it, reports its problems.

package import LupinPolicy

/// The result of loading a rules file.
package struct LoadResult: Sendable {
    /// nil when there is any error.
    package var configuration: Configuration?
    /// In the order of the file.
    package var errors: [Diagnostic]
    /// In the order of the file; lupin starts despite them.
    package var warnings: [Diagnostic]
    /// The paths of the host lists that the file names, even when it has errors.
    package var files: [String] = []
    /// How many files and values of variables the file refers to that were not read.
    package var unreadReferences = 0
    /// The readable settings of `admin`, even after errors, to reach a running lupin.
    package var admin = AdminSettings()
}

/// Reads `lupin.yaml`.
package enum RulesFile {
    /// Reads and checks the file at `path`.
    ///
    /// - Parameters:
    ///   - path: As the user gave it; diagnostics use it.
    ///   - text: Checked in place of what the file says, which need not exist then.
    ///   - environment: lupin's own environment, for `${env:…}` and `upstream.proxy: environment`.
    ///   - home: The meaning of `~`; nil takes `HOME` or the user database.
    ///   - secrets: Which secrets are read. Where not all are required, the configuration is for
    ///     inspection, or for a proxy that sends none.
    ///   - tls: Judges ciphers, and certificates with their keys, as the proxy itself will.
    /// - Returns: The configuration, or the errors.
    package static func load(
        path: String,
        text: [UInt8]? = nil,
        environment: [String: String],
        home: String? = nil,
        secrets: SecretReading = .required,
        tls: TLSJudgement? = nil
    ) -> LoadResult {
        let contents: FileContents
        do {
            contents =
                text == nil || FileAccess.exists(path)
                ? try FileAccess.read(path) : FileContents(bytes: [])
        } catch {
            return failure(path, .file, "cannot read the rules file: \(error.reason)")
        }
        var surroundings = Surroundings(
            environment: environment,
            home: home ?? FileAccess.home(environment),
            // Whole, since a reload names the file in another way than the user.
            directory: FileAccess.absolute(directory(of: path)),
            standings: FileAccess.openWay(to: path),
            readFile: { name throws(FileProblem) in try FileAccess.read(name) }
        )
        surroundings.secrets = secrets
        surroundings.tls = tls
        if secrets == .unread {
            surroundings.environment = [:]
            surroundings.readFile = { _ throws(FileProblem) in throw FileProblem("it is not read") }
        } else {
            surroundings.isDirectory = FileAccess.isDirectory
            surroundings.isFile = FileAccess.isFile
            surroundings.isProgram = FileAccess.isProgram
            surroundings.openWay = FileAccess.openWay
        }
        return decode(bytes: text ?? contents.bytes, fileName: path, surroundings: surroundings)
    }

    /// Checks the content of a file.
    ///
    /// Files and variables that it names are read through `surroundings`.
    package static func decode(
        bytes: [UInt8],
        fileName: String,
        surroundings: Surroundings = Surroundings()
    ) -> LoadResult {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return failure(fileName, .syntax, "the file is UTF-16", hint: "save it as UTF-8")
        }
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        guard let text = String(validating: content, as: UTF8.self) else {
            let repaired = SourceFile(
                name: fileName,
                text: String(decoding: content, as: UTF8.self)
            )
            let location = repaired.location { $0 == "\u{FFFD}" }
            let problem = repaired.diagnostic(
                .syntax,
                "the file is not UTF-8",
                at: location,
                count: 1,
                hint: "save it as UTF-8"
            )
            return LoadResult(configuration: nil, errors: [problem], warnings: [])
        }
        return decode(text: text, fileName: fileName, surroundings: surroundings)
    }

    /// Checks the text of a file.
    package static func decode(
        text: String,
        fileName: String,
        surroundings: Surroundings = Surroundings()
    ) -> LoadResult {
        let source = SourceFile(name: fileName, text: text)
        let context = DecodingContext(source: source, surroundings: surroundings)
        var reader = DocumentReader(source: source)
        let root = reader.read()
        context.add(errors: reader.problems)
        var settings = Settings()
        var rules = RuleSet([])
        var places: [String: (line: Int, column: Int)] = [:]
        if let root {
            let entries = context.entries(root, of: "keys and values", example: "lupin: 1")
            var decoder = SettingsDecoder(context: context)
            let rulesNode = entries.flatMap { decoder.decode($0) }
            settings = decoder.settings
            places = decoder.places
            let (trust, retry, cache) = (decoder.trust, decoder.retry, decoder.cache)
            RetryConsistency(context: context, settings: settings).check(retry)
            if let rulesNode {
                let decoder = RuleDecoder(
                    context: context,
                    settings: settings,
                    trust: trust,
                    retry: retry,
                    cache: cache
                )
                rules = RuleSet(decoder.rules(rulesNode))
                if context.errors.isEmpty { decoder.warnOfShadows(in: rules) }
            }
            FileGuard(context: context).check(settings, rules.rules, in: entries ?? [])
            if context.errors.isEmpty {
                TrustDecoder(context: context).warnOfUnused(trust, by: rules.rules)
                RetryDecoder(context: context).warnOfUnused(retry, by: rules.rules)
                CacheDecoder(context: context).warnOfUnused(cache, by: rules.rules)
            }
        } else if reader.problems.isEmpty {
            SettingsDecoder(context: context).requireVersion()
        }
        let errors = context.concealed(context.errors).sortedByPosition()
        var configuration = Configuration(
            settings: settings,
            rules: rules,
            version: version(of: text),
            secrets: context.secrets
        )
        if !context.files.isEmpty {
            context.listHash.add(text.utf8)
            configuration.version = context.listHash.text
            configuration.files = context.files
        }
        configuration.paths = context.paths.map(\.named)
        configuration.variables = context.variables.sorted()
        configuration.fileName = fileName
        configuration.text = text
        configuration.settingPlaces = places
        return LoadResult(
            configuration: errors.isEmpty ? configuration : nil,
            errors: errors,
            warnings: context.concealed(context.warnings).sortedByPosition(),
            files: context.files,
            unreadReferences: context.unreadReferences,
            admin: settings.admin
        )
    }

    /// The `Configuration.textVersion` of the file at `path`; nil when it can't be read.
    package static func textVersion(ofFile path: String) -> String? {
        guard let bytes = try? FileAccess.read(path).bytes else { return nil }
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return version(of: String(decoding: content, as: UTF8.self))
    }

    /// Returns the file to load; nil when there is none and the defaults hold.
    ///
    /// The order is `explicit`, `$LUPIN_RULES`, `$XDG_CONFIG_HOME/lupin/lupin.yaml` (else below
    /// `~/.config`), `/etc/lupin/lupin.yaml`. Never the working directory: so a relative
    /// `XDG_CONFIG_HOME` is ignored. The first two are returned even when missing, so that loading
    /// reports it.
    package static func locate(
        explicit: String?,
        environment: [String: String],
        home: String? = nil
    ) -> String? {
        locate(
            explicit: explicit,
            environment: environment,
            home: home,
            exists: FileAccess.exists,
            isReadable: FileAccess.isReadable
        )
    }

    /// The file of the system's lupin; where only that one may read it, it counts as missing.
    private static let systemFile = "/etc/lupin/lupin.yaml"

    /// The system's file, if it is there and this user may not read it.
    package static var hiddenFile: String? {
        FileAccess.exists(systemFile) && !FileAccess.isReadable(systemFile) ? systemFile : nil
    }

    package static func locate(
        explicit: String?,
        environment: [String: String],
        home: String?,
        exists: (String) -> Bool,
        isReadable: (String) -> Bool = { _ in true }
    ) -> String? {
        if let explicit { return explicit }
        if let named = environment["LUPIN_RULES"], !named.isEmpty { return named }
        return candidates(environment: environment, home: home).first { path in
            exists(path) && (path != systemFile || isReadable(path))
        }
    }

    /// Where the rules file is looked for when none is named, in this order.
    package static func candidates(
        environment: [String: String],
        home: String? = nil
    ) -> [String] {
        var candidates: [String] = []
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
            candidates.append("\(base)/lupin/lupin.yaml")
        } else if let home = home ?? FileAccess.home(environment), home.hasPrefix("/") {
            candidates.append("\(home)/.config/lupin/lupin.yaml")
        }
        return candidates + [systemFile]
    }

    // MARK: Small things

    /// The upper half of the content's FNV-1a hash, 64 bits, as eight hex digits.
    package static func version(of text: String) -> String {
        var hash = ContentHash()
        hash.add(text.utf8)
        return hash.text
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(
        _ fileName: String,
        _ code: Diagnostic.Code,
        _ message: String,
        hint: String? = nil
    ) -> LoadResult {
        let file = SourceFile(name: fileName, text: "")
        let problem = file.diagnostic(code, message, at: .wholeFile, hint: hint)
        return LoadResult(configuration: nil, errors: [problem], warnings: [])
    }
}

/// An FNV-1a hash, 64 bits, of all added bytes.
struct ContentHash {
    private var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    /// The upper half as eight hex digits.
    var text: String {
        let digits = String(value >> 32, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}
