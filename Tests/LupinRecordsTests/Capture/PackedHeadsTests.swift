// Heads come back from their packed form as JSON, with secrets masked.
import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct PackedHeadsTests {
    private static func request(_ target: String, _ fields: [(String, String)]) -> RequestHead {
        var head = makeRequest(target)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        return head
    }

    private static func response(_ status: UInt16, _ fields: [(String, String)]) -> ResponseHead {
        var head = ResponseHead(status: status)
        head.fields = makeFields(fields)
        return head
    }

    private static func json(_ heads: PackedHeads, secrets: [String] = []) -> JSONValue? {
        JSONValue(parsing: PackedHeads.json(of: heads.bytes(makeRedactor(secrets: secrets))).span)
    }

    /// Bytes whose every head but the first is what the one before lacks.
    private static func manyHeads(_ lack: [UInt8]) -> [UInt8] {
        let whole = PackedHeads(request: request("/a", [("x-a", "1"), ("x-b", "2")]))
        return whole.bytes(makeRedactor()) + [6] + lack + [0, 5] + lack
    }

    private static func fields(_ head: JSONValue?) -> [[String]] {
        (head?["fields"]?.list ?? []).map { ($0.list ?? []).compactMap(\.string) }
    }

    @Test func `every head comes back with its fields in their order`() throws {
        let long = String(repeating: "v", count: 3000)
        let heads = PackedHeads(
            request: Self.request("/users?page=2", [("accept", "*/*"), ("x-empty", "")]),
            sent: Self.request("/v2/users", [("x-long", long)]),
            received: Self.response(404, [("X-Quoted", "a \"b\" \\ \u{1F41B}")]),
            response: Self.response(200, [("server", "one"), ("server", "two")])
        )
        let json = try #require(Self.json(heads))
        #expect(json["request"]?["method"]?.string == "GET")
        #expect(json["request"]?["target"]?.string == "/users?page=2")
        let request = Self.fields(json["request"])
        #expect(request.suffix(2) == [["accept", "*/*"], ["x-empty", ""]])
        #expect(json["sent"]?["target"]?.string == "/v2/users")
        #expect(Self.fields(json["sent"]).last == ["x-long", long])
        #expect(json["received"]?["status"]?.count == 404)
        #expect(Self.fields(json["received"]) == [["X-Quoted", "a \"b\" \\ \u{1F41B}"]])
        #expect(json["response"]?["status"]?.count == 200)
        #expect(Self.fields(json["response"]) == [["server", "one"], ["server", "two"]])
    }

    @Test func `heads that are not there are left out`() {
        let none = PackedHeads(request: nil, sent: nil, received: nil, response: nil)
        #expect(PackedHeads.json(of: none.bytes(makeRedactor())) == Array("{}".utf8))
        let heads = PackedHeads(
            request: nil,
            sent: nil,
            received: nil,
            response: Self.response(204, [])
        )
        let text = PackedHeads.json(of: heads.bytes(makeRedactor()))
        #expect(text == Array("{\"response\":{\"status\":204,\"fields\":[]}}".utf8))
    }

    @Test func `secrets are masked before they are packed`() throws {
        let secret = "s3cret-value-of-a-rule"
        var request = Self.request(
            "/a?access_token=abcdef&x=\(secret)",
            [("authorization", "Bearer abc"), ("x-other", "is \(secret)"), ("x-plain", "plain")]
        )
        request.fields.add(name: "cookie", value: String(repeating: "c", count: 2000))
        let heads = PackedHeads(request: request, sent: nil, received: nil, response: nil)
        let redactor = makeRedactor(secrets: [secret])
        let bytes = String(decoding: heads.bytes(redactor), as: UTF8.self)
        for hidden in [secret, "abcdef", "Bearer abc", "cccc"] {
            #expect(!bytes.contains(hidden), "\(hidden)")
        }
        let fields = Self.fields(try #require(Self.json(heads, secrets: [secret]))["request"])
        #expect(fields.contains(["x-plain", "plain"]))
        #expect(fields.contains { $0.first == "cookie" && $0.last?.hasPrefix("REDACTED") == true })
    }

    @Test func `lines of the connection are kept of the client's request alone`() throws {
        var request = Self.request("/", [("te", "trailers"), ("x-a", "1")])
        for i in request.fields.lines.indices where request.fields.lines[i].known == .te {
            request.fields.lines[i].isHopByHop = true
        }
        let heads = PackedHeads(request: request, sent: request, received: nil, response: nil)
        let json = try #require(Self.json(heads))
        #expect(Self.fields(json["request"]).contains(["te", "trailers"]))
        #expect(!Self.fields(json["sent"]).contains(["te", "trailers"]))
        #expect(Self.fields(json["sent"]).contains(["x-a", "1"]))
    }

    @Test func `a head that went on as it came takes few bytes, and comes back whole`() throws {
        let lines = (0..<9).map { ("x-\($0)", "value \($0)") }
        let request = Self.request("/a?token=abcdef", lines + [("authorization", "Bearer abc")])
        let received = Self.response(200, lines + [("set-cookie", "a=1")])
        for left in [[], [0], [3], [8], [0, 1, 2], [1, 4, 7], Array(0..<9)] {
            var (sent, response) = (request, received)
            let first = sent.fields.lines.count - 10
            for i in left {
                sent.fields.lines[first + i].isHopByHop = true
                response.fields.lines[i].isHopByHop = true
            }
            let heads = PackedHeads(
                request: request,
                sent: sent,
                received: received,
                response: response
            )
            let alone = PackedHeads(request: request, sent: nil, received: received, response: nil)
            let redactor = makeRedactor()
            #expect(
                heads.bytes(redactor).count == alone.bytes(redactor).count + 4 + left.count * 2
            )
            let json = try #require(Self.json(heads))
            for (side, other, packed) in [
                ("sent", "request", PackedHeads(request: nil, sent: sent)),
                ("response", "received", PackedHeads(response: response)),
            ] {
                // What a head says that stands alone.
                #expect(json[side] == Self.json(packed)?[side])
                let expected = Self.fields(json[other]).filter { field in
                    !left.contains { field.first == "x-\($0)" }
                }
                #expect(Self.fields(json[side]) == expected)
            }
        }
    }

    @Test func `a head that differs in more than lines of the connection is written whole`() throws
    {
        let lines = [("x-a", "one"), ("x-b", "two")]
        let request = Self.request("/a", lines)
        let received = Self.response(200, lines)
        var others: [RequestHead] = [Self.request("/b", lines), Self.request("/a", [lines[0]])]
        others.append(Self.request("/a", [lines[1], lines[0]]))
        others.append(Self.request("/a", lines + [("x-c", "three")]))
        for sent in others {
            let json = try #require(Self.json(PackedHeads(request: request, sent: sent)))
            #expect(json["sent"] == Self.json(PackedHeads(sent: sent))?["sent"])
        }
        for response in [
            Self.response(201, lines), Self.response(200, [lines[0]]),
            Self.response(200, [("x-a", "one"), ("x-b", "owt")]),
        ] {
            let json = try #require(Self.json(PackedHeads(received: received, response: response)))
            #expect(json["response"] == Self.json(PackedHeads(response: response))?["response"])
        }
        // Of a head that lacks lines itself nothing is left out.
        var partial = received
        partial.fields.lines[0].isHopByHop = true
        let json = try #require(Self.json(PackedHeads(received: partial, response: received)))
        #expect(Self.fields(json["received"]) == [["x-b", "two"]])
        #expect(Self.fields(json["response"]) == [["x-a", "one"], ["x-b", "two"]])
    }

    @Test func `bytes that are no heads make an object, whatever they are`() {
        let whole = PackedHeads(
            request: Self.request("/a", [("accept", "*/*")]),
            sent: nil,
            received: nil,
            response: Self.response(200, [("server", "one")])
        ).bytes(makeRedactor())
        for count in 0..<whole.count {
            let text = PackedHeads.json(of: Array(whole.prefix(count)))
            #expect(JSONValue(parsing: text.span) != nil, "\(count)")
        }
        let lacks: [[UInt8]] = [
            [1], [2], [3], [9], [2, 1], [1, 1], [1, 2, 3], [255, 1], [128, 0],
        ]
        for lack in lacks {
            let text = PackedHeads.json(of: Self.manyHeads(lack))
            #expect(JSONValue(parsing: text.span) != nil, "\(lack)")
        }
        // One that lacks lines of a head that is not there, or of another kind.
        #expect(PackedHeads.json(of: [6, 1, 0]) == Array("{}".utf8))
        for byte in 0...255 as ClosedRange<UInt8> {
            for count in [1, 2, 3, 12] {
                let text = PackedHeads.json(of: [UInt8](repeating: byte, count: count))
                #expect(JSONValue(parsing: text.span) != nil, "\(byte)")
            }
        }
    }
}

extension PackedHeads {
    /// Some of the heads.
    fileprivate init(
        request: RequestHead? = nil,
        sent: RequestHead?
    ) {
        self.init(request: request, sent: sent, received: nil, response: nil)
    }

    fileprivate init(received: ResponseHead? = nil, response: ResponseHead?) {
        self.init(request: nil, sent: nil, received: received, response: response)
    }

    fileprivate init(request: RequestHead) { self.init(request: request, sent: nil) }
}
