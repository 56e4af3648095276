// Which members of JSON and fields of forms are hidden by their names.
import LupinCore
import LupinTestKit
import Testing

struct MemberRedactionTests {
    private let mark = Masks.mark

    @Test(arguments: [
        (#"{"token":"a"}"#, #"{"token":"*"}"#),
        (#"{"TOKEN" :"# + "\n\t " + #""a","b":"c"}"#, #"{"TOKEN" :"# + "\n\t " + #""*","b":"c"}"#),
        (#"{"my_password_2":"a\"b\\","b":1}"#, #"{"my_password_2":"*","b":1}"#),
        (#"{"to\u006Ben":"a"}"#, #"{"to\u006Ben":"*"}"#),
        (#"{"\u0074\u006f\u006b\u0065\u006e":"a"}"#, #"{"\u0074\u006f\u006b\u0065\u006e":"*"}"#),
        (#"{"x_pin":12,"token":-1.5e3 }"#, #"{"x_pin":"*","token":"*" }"#),
        (
            #"[{"access_token":"a"},{"csrf-token":"b"}]"#,
            #"[{"access_token":"*"},{"csrf-token":"*"}]"#
        ),
        (
            #"{"token":null,"api_key":true,"secret":false}"#,
            #"{"token":null,"api_key":true,"secret":false}"#
        ),
        (#"{"token":{},"secret":[ ]}"#, #"{"token":{},"secret":[ ]}"#),
        (#"{"tokens":"a","a":"token","b":":"}"#, #"{"tokens":"a","a":"token","b":":"}"#),
        (
            #"{"h":["Authorization", "Bearer a"],"b":["X-Api-Key","a\"b"]}"#,
            #"{"h":["Authorization", "*"],"b":["X-Api-Key","*"]}"#
        ),
        (
            #"[ ["token","a"], ["b","c"],["password" , "d" ]]"#,
            #"[ ["token","*"], ["b","c"],["password" , "*" ]]"#
        ),
        (#"[["cookie","a"#, #"[["cookie","*"#),
        (
            #"{"required":["password","email"],"a":["x-api-key","b","c"],"b":["c","token"]}"#,
            #"{"required":["password","email"],"a":["x-api-key","b","c"],"b":["c","token"]}"#
        ),
        (#"{"token":"a"#, #"{"token":"*"#),
        (#"{"token":"a\"#, #"{"token":"*"#),
        (#"{"token":12"#, #"{"token":"*""#),
        (#"{"token":"#, #"{"token":"#),
        (#"{"token":""}"#, #"{"token":""}"#),
        ("token=a&b=c", "token=*&b=c"),
        ("b=c&refresh_token=a", "b=c&refresh_token=*"),
        ("b=c&pass%77ord=a%20b&d=", "b=c&pass%77ord=*&d="),
        ("a.token=b", "a.token=*"),
        ("password=", "password="),
        ("GET /?b=c&passwd=d HTTP/1.1", "GET /?b=c&passwd=* HTTP/1.1"),
    ])
    func `values are hidden by their names`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    @Test(arguments: [
        (#"{"b":"token=a&x=1"}"#, #"{"b":"token=*&x=1"}"#),
        (#"{"b":"token=a&password=b"}"#, #"{"b":"token=*&password=*"}"#),
        (#"["token=a","x","password=b"]"#, #"["token=*","x","password=*"]"#),
        (#""password=a\"b\\""#, #""password=*""#),
        (#"{"b":"x=1&token=a","token":"c"}"#, #"{"b":"x=1&token=*","token":"*"}"#),
        (
            #"{"h":["Authorization: Bearer a b","Accept: c"]}"#,
            #"{"h":["Authorization: *","Accept: c"]}"#
        ),
        (#"{"h":"X-Api-Key:a\r\nAccept: c"}"#, #"{"h":"X-Api-Key:*\r\nAccept: c"}"#),
        (#"{"b":"[\"token=a&x=1\",\"token=a\"]"}"#, #"{"b":"[\"token=*&x=1\",\"token=*\"]"}"#),
        (#"{"b":"[\"Authorization: Bearer a\"]"}"#, #"{"b":"[\"Authorization: *\"]"}"#),
        (
            #"{"e":"password: too short","f":"token="}"#,
            #"{"e":"password: too short","f":"token="}"#
        ),
        (#"["the token=a","a=b"]"#, #"["the token=a","a=b"]"#),
        (#"["token=a"#, #"["token=*"#), (#"["token=a\"#, #"["token=*"#),
    ])
    func `forms and fields in strings are hidden by their names`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    @Test(arguments: [
        (#"{"b":"{\"password\":\"a\",\"n\":1}"}"#, #"{"b":"{\"password\":\"*\",\"n\":1}"}"#),
        (#"["{ \"token\" : \"a\\\"b\" }"]"#, #"["{ \"token\" : \"*\" }"]"#),
        (#"{"b":"{\"token\":\"a\\\\\",\"c\":1}"}"#, #"{"b":"{\"token\":\"*\",\"c\":1}"}"#),
        (#"{"b":"{\"x_pin\":12,\"token\":-1}"}"#, #"{"b":"{\"x_pin\":\"*\",\"token\":\"*\"}"}"#),
        (
            #"{"a":"{\"b\":\"{\\\"token\\\":\\\"x\\\"}\"}"}"#,
            #"{"a":"{\"b\":\"{\\\"token\\\":\\\"*\\\"}\"}"}"#
        ),
        (
            #"{"b":"{\u0022token\u0022:\u0022a\\\u0022b\u0022,\u0022c\u0022:1}"}"#,
            #"{"b":"{\u0022token\u0022:\u0022*\u0022,\u0022c\u0022:1}"}"#
        ),
        (#"{"b":"{\"token\":\"a"#, #"{"b":"{\"token\":\"*"#),
        (#"{"b":"{\"token\":\"a","c":"d"}"#, #"{"b":"{\"token\":\"*","c":"d"}"#),
        (#"{"b":"{\"token\":\"#, #"{"b":"{\"token\":\"#),
        (#"{"b":"{\"token\":null}","c":"d"}"#, #"{"b":"{\"token\":null}","c":"d"}"#),
        (#"{"b":"say \"token\" twice: \"a\""}"#, #"{"b":"say \"token\" twice: \"a\""}"#),
        (#"{"b":"C:\\","token":"a"}"#, #"{"b":"C:\\","token":"*"}"#),
    ])
    func `values are hidden in JSON that stands in a string, too`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    @Test(arguments: [
        (#"{"token":{"value":"a"},"b":1}"#, #"{"token":"*","b":1}"#),
        (#"{"secret" : [ "a", 1, true ] }"#, #"{"secret" : "*" }"#),
        (#"{"token":{"a":{"b":["c]}","\\","\"}"]}},"d":"e"}"#, #"{"token":"*","d":"e"}"#),
        (#"{"token":[{"token":"a"}],"token":"b"}"#, #"{"token":"*","token":"*"}"#),
        (#"{"token":{"value":"a"#, #"{"token":"*""#), (#"{"token":["#, #"{"token":"*""#),
        (#"{"tokens":["a","b"]}"#, #"{"tokens":"*"}"#),
        (#"{"tokens":{"ci":{"value":"a"}}}"#, #"{"tokens":"*"}"#),
        (#"{"tokens":{"in":5,"out":[7]},"a":"b"}"#, #"{"tokens":{"in":5,"out":[7]},"a":"b"}"#),
        (#"{"max_tokens":4096,"tokens":[1,2]}"#, #"{"max_tokens":4096,"tokens":[1,2]}"#),
        (#"{"tokens":{"tokens":{"token":1}}}"#, #"{"tokens":{"tokens":{"token":"*"}}}"#),
        (#"{"recovery_codes":["a","b"]}"#, #"{"recovery_codes":"*"}"#),
        (#"{"b":"{\"token\":{\"value\":\"a\"},\"n\":1}"}"#, #"{"b":"{\"token\":\"*\",\"n\":1}"}"#),
        (#"{"b":"{\"tokens\":[ \"a\", \"b\" ]}","c":[1]}"#, #"{"b":"{\"tokens\":\"*\"}","c":[1]}"#),
        (#"{"b":"{\"token\":{\"a\":\"b","c":"d"}"#, #"{"b":"{\"token\":\"*\"","c":"d"}"#),
        ("a=1&token[value]=a&b=2", "a=1&token[value]=*&b=2"),
        ("tokens[]=a&tokens%5B%5D=b&token[0][x]=c", "tokens[]=*&tokens%5B%5D=*&token[0][x]=*"),
        ("data=%7B%22token%22%3A%22a%22%7D&b=1", "data=%7B%22token%22%3A%22*%22%7D&b=1"),
    ])
    func `all that lies below a name is hidden`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    @Test(arguments: [
        (#"{"pin":1234,"user_pin":"a","PIN":"b"}"#, #"{"pin":"*","user_pin":"*","PIN":"*"}"#),
        (#"{"code":404}"#, #"{"code":404}"#), (#"{"code":"not_found"}"#, #"{"code":"not_found"}"#),
        (#"{"code":"SplxlOBeZQQYbYS6WxSbIA"}"#, #"{"code":"*"}"#),
        (#"{"auth_code":"a","code":{"a":"b"}}"#, #"{"auth_code":"*","code":{"a":"b"}}"#),
        (
            #"{"grant_type":"authorization_code","code":"short"}"#,
            #"{"grant_type":"authorization_code","code":"*"}"#
        ),
        (#"{"code":"short","code_verifier":"a"}"#, #"{"code":"*","code_verifier":"*"}"#),
        ("code=short&state=a", "code=*&state=*"), (#"{"code":"Spl"#, #"{"code":"*"#),
    ])
    func `a code is hidden where it is one of OAuth`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    /// As archives, settings and forms list them.
    @Test(arguments: [
        (#"{"name":"password","value":"a"}"#, #"{"name":"password","value":"*"}"#),
        (#"{"value":"a","name":"password"}"#, #"{"value":"*","name":"password"}"#),
        (
            #"[{"key" : "API_KEY" , "value" : "a"},{"key":"x","value":"b"}]"#,
            #"[{"key" : "API_KEY" , "value" : "*"},{"key":"x","value":"b"}]"#
        ),
        (
            #"{"name":"Cookie","type":"text","n":1,"value":"a\"b","c":"d"}"#,
            #"{"name":"Cookie","type":"text","n":1,"value":"*","c":"d"}"#
        ),
        (
            #"{"name":"pin","token":"a","value":1234}"#,
            #"{"name":"pin","token":"*","value":"*"}"#
        ),
        (#"{"name":"secret","value":{"a":"b"}}"#, #"{"name":"secret","value":"*"}"#),
        (#"{"Name":"token","Value":"a"#, #"{"Name":"token","Value":"*"#),
        (#"{"name":"author","value":"a"}"#, #"{"name":"author","value":"a"}"#),
        (#"{"name":"token"},{"value":"a"}"#, #"{"name":"token"},{"value":"a"}"#),
        (#"{"name":"token","a":{"value":"b"}}"#, #"{"name":"token","a":{"value":"b"}}"#),
        (#"{"name":"token","label":"a"}"#, #"{"name":"token","label":"a"}"#),
    ])
    func `a value is hidden by the name beside it`(body: String, shown: String) {
        let expected = shown.replacing("*", with: mark)
        #expect(Masks.kept(body) == expected)
        #expect(Masks.kept(Array(body.utf8).map { [$0] }) == expected)
    }

    @Test(arguments: [
        "name=password", "name=\"password\"", "NAME=Password", "filename=a; name=password",
        "name = password", "name*=UTF-8''p%61ssword", "name=x; name*=utf-8'en'password",
        "name=\"pass\\word\"", "filename=\"a; name=b\"; name=password", "name=password ;a=b",
        "name=\"user[password]\"",
    ])
    func `a part of a form is hidden by its name, however that is written`(parameters: String) {
        for field in ["Content-Disposition: form-data", "content-disposition:form-data"] {
            let head = "--b\r\nContent-Type: text/plain\r\n\(field); \(parameters)\r\n\r\n"
            let rest = "\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--b--"
            let body = head + "hunter22\r\n2" + rest
            #expect(Masks.kept(body) == head + mark + rest)
            #expect(Masks.kept(Array(body.utf8).map { [$0] }) == head + mark + rest)
        }
    }

    @Test(arguments: [
        "name=a", "filename=password", "filename=\"x; name=password\"",
        "filename*=UTF-8''password; name=a", "x-name=password", "name",
    ])
    func `one with another name stays`(parameters: String) {
        let body =
            "--b\r\nContent-Disposition: form-data; \(parameters)\r\n\r\nhunter22\r\n--b--"
        #expect(Masks.kept(body) == body)
    }

    @Test func `a list in which lists lie is read once`() {
        let depth = 20_000
        let body =
            String(repeating: #"{"tokens":"#, count: depth) + "1"
            + String(repeating: "}", count: depth)
        let time = processorTime { #expect(Masks.kept(body) == body) }
        #expect(time < .seconds(2))
    }

    @Test(
        arguments: [
            (#"{"token":"a"}"#, #"{"token":"*"}"#), ("x&token=a", "x&token=*"),
            ("?token=a", "?token=*"),
            (#"{"b":"{\"token\":\"a\"}"}"#, #"{"b":"{\"token\":\"*\"}"}"#),
        ]
    )
    func `values are found wherever they stand`(body: String, shown: String) {
        for count in 0..<20 {
            for filler in ["-", "é", "\u{1}"] {
                let before = String(repeating: filler, count: count)
                let expected = before + shown.replacing("*", with: mark)
                #expect(Masks.kept(before + body) == expected, "\(count) of \(filler)")
            }
        }
    }

    @Test func `names of any length and bytes of any value are read`() {
        let long = String(repeating: "n", count: 70_000)
        #expect(Masks.kept("{\"\(long)\":\"a\"}") == "{\"\(long)\":\"a\"}")
        let noise = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        let quotes = [UInt8](repeating: 0x22, count: 70_000)
        let escapes = [UInt8](repeating: 0x5C, count: 70_001)
        for bytes in [noise, quotes, escapes] { _ = Masks.kept([bytes]) }
        #expect(Masks.kept([quotes]) == String(decoding: quotes, as: UTF8.self))
    }
}
