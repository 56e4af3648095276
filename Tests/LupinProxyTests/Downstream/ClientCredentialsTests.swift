// That Proxy-Authorization is read as RFC 7617 writes it, and nothing else is taken for it.

import LupinProxy
import Testing

struct ClientCredentialsTests {
    private func read(_ value: String) -> ClientCredentials? {
        let bytes = Array(value.utf8)
        return ClientCredentials(bytes.span)
    }

    @Test(arguments: [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
        ("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
        ("BASIC   QWxhZGRpbjpvcGVuIHNlc2FtZQ==  ", "Aladdin", "open sesame"),
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Aladdin", "open sesame"),
        ("Basic dGVzdDoxMjPCow==", "test", "123\u{A3}"),
        ("Basic YTpiOmM=", "a", "b:c"), ("Basic YTo=", "a", ""), ("Basic OmI=", "", "b"),
        ("Basic dTo+Pz8/", "u", ">???"),
    ])
    func `credentials are read`(sample: (value: String, name: String, password: String)) throws {
        let found = try #require(read(sample.value))
        #expect(found.name == sample.name)
        #expect(found.password == Array(sample.password.utf8))
    }

    @Test(arguments: [
        "", "Basic", "Basic ", "Basic YTpi!", "BasicYTpi", "Bearer YTpi", "Digest username=\"a\"",
        "Basic YWI=", "Basic YTpi YTpi", "Basic Y", "Basic YTpiY", "Basic YTpi=", "Basic YTo==",
        "Basic ====", "Basic YTpi\u{E9}",
        // Control characters: "a\0:b", "a:\n"; a name in ISO 8859-1: "é:b".
        "Basic YQA6Yg==", "Basic YToK", "Basic 6Tpi",
    ])
    func `what is none is not taken for credentials`(value: String) {
        #expect(read(value) == nil)
    }

    @Test func `a password may have bytes that are not UTF-8`() throws {
        #expect(try #require(read("Basic YTrp")).password == [0xE9])
    }
}
