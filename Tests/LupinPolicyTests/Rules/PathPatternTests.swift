// Which paths a pattern stands for, and what a bad one is told.

import LupinCore
import LupinPolicy
import Testing

@Suite struct PathPatternTests {
    private func matches(_ pattern: String, _ path: String) throws -> Bool {
        let normal = NormalPath(text: path)
        let bytes = normal.rewritten ?? Array(path.utf8.prefix(normal.pathCount))
        let isMatch = try PathPattern(pattern).matches(bytes.span)
        return isMatch
    }

    @Test(arguments: [
        ("/v1/**", "/v1", true), ("/v1/**", "/v1/", true), ("/v1/**", "/v1/a/b", true),
        ("/v1/**", "/v10", false), ("/v1/*", "/v1/a", true), ("/v1/*", "/v1/", false),
        ("/v1/*", "/v1/a/b", false), ("/v1/*", "/v1/a/", false), ("/v1/*/", "/v1/a/", true),
        ("/v1", "/v1", true), ("/v1", "/v1/", false), ("/", "/", true), ("/", "", true),
        ("/", "/a", false), ("/**", "/", true), ("/**", "/a//b", true), ("/*", "/", false),
        ("/**/x", "/x", true), ("/**/x", "/a/b/x", true), ("/**/x", "/a/x/b", false),
        ("/a/**/b/*.json", "/a/1/2/b/f.json", true), ("/a/*.json", "/a/.json", true),
        ("/a", "/A", false), ("/a b", "/a%20b", true), ("/a%20b", "/a%20b", true),
        ("/café", "/caf%c3%a9", true), ("/%7euser", "/~user", true), ("/~user", "/%7Euser", true),
        ("/a%2fb", "/a%2Fb", true), ("/a/b", "/a%2Fb", false), ("/a/./b/../c", "/a/c", true),
        ("/a/c", "/a/b/%2e%2E/c", true), ("/v1/**", "/v2/../v1/x", true),
        ("/v1/**", "/v1/../admin", false), (#"/a\*b"#, "/a*b", true), (#"/a\*b"#, "/axb", false),
        ("/v1", "/v1?x=/v2", true), ("/v1/**", "/v1?q", true),
        (#"/^\/v[12]\/.*\.json$/"#, "/v2/a.json", true), (#"/^\/v[12]$/"#, "/v3", false),
        ("/HEALTH$/i", "/health", false), (#"/^\/HEALTH$/i"#, "/health", true),
        ("/v1/users/", "/v1/users/", true), ("/v1/users/", "/xv1/users/y", false),
        ("/v1/i", "/v1/i", true), ("//", "//", true),
    ])
    func `a pattern matches the normal form`(
        pattern: String,
        path: String,
        expected: Bool
    ) throws {
        #expect(try matches(pattern, path) == expected)
    }

    @Test(
        arguments: [
            ("/v1/x", nil), ("/v1/**", nil), ("/a b", nil), ("/café", nil), ("/a%2Fb", nil),
            ("/a%20b", nil), ("/a/.b/..c", nil), ("/100%", nil), (#"/a\*b"#, nil),
            ("/%7Euser", "/~user"), ("/%7euser/*", "/~user/*"), ("/a%2fb", "/a%2Fb"),
            ("/a/%2e%2e/b", "/b"), ("/a/./b", "/a/b"), ("/a/../b/**", "/b/**"),
            (#"/^\/%7Euser/"#, #"/^\/~user/"#), (#"/^\/a%2fb$/"#, #"/^\/a%2Fb$/"#),
            (#"/^\/a%2eb$/"#, #"/^\/a\.b$/"#), (#"/^\/a%2Fb$/"#, nil), (#"/^\/v\d+$/"#, nil),
        ] as [(String, String?)]
    )
    func `a pattern in another form knows the normal one`(text: String, form: String?) throws {
        #expect(try PathPattern(text).normalForm == form)
        // It is one in which nothing is left to say.
        if let form { #expect(try PathPattern(form).normalForm == nil) }
    }

    @Test(arguments: [
        ("/v1//x", true), ("//", true), ("//x/**", true), ("/v1//**", true), ("/v1/x", false),
        ("/**//x", false), ("/", false),
    ])
    func `an empty segment of a literal path is seen`(text: String, isThere: Bool) throws {
        #expect(try PathPattern(text).hasEmptySegment == isThere)
    }

    @Test(arguments: [
        ("v1/**", "a path begins with `/`; write `/v1/**`", 0), ("", "a path begins with `/`", 0),
        ("/a*b*", "`*` stands twice in one segment", 4), ("/é/a**", "`*` stands twice", 5),
        ("/a?b=c", "write `query: {name: value}`", 2), ("/a#b", "a fragment is never sent", 2),
        ("/health/", "may mean a path or a regular expression; write `/health/**`", 0),
        ("/*/../x", "`..` stands behind a wildcard", 3), ("/a(/", "`(` is not closed", 2),
    ])
    func `a bad path says what to write`(text: String, message: String, offset: Int) throws {
        let problem = try #require(problem { _ = try PathPattern(text) })
        #expect(problem.message.contains(message), "\(problem.message)")
        #expect(problem.offset == offset)
    }
}
