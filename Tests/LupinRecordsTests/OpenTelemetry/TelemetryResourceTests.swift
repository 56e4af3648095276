// What the environment says of the service.

import LupinRecords
import Testing

struct TelemetryResourceTests {
    private func resource(_ environment: [String: String]) -> [String: String] {
        let all = TelemetryResource(environment: environment, version: "1", instance: "i")
            .attributes
        return Dictionary(all.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    @Test func `lupin says who it is`() {
        #expect(
            resource([:])
                == ["service.name": "lupin", "service.version": "1", "service.instance.id": "i"]
        )
    }

    @Test func `the environment adds attributes and names the service`() {
        let all = resource([
            "OTEL_RESOURCE_ATTRIBUTES": "a=1, b = two%20words ,service.name=x,odd,=y,c=%zz,d=",
            "OTEL_SERVICE_NAME": "ci",
        ])
        #expect(all["a"] == "1")
        #expect(all["b"] == "two words")
        #expect(all["c"] == "%zz")
        #expect(all["d"] == "")
        #expect(all["service.name"] == "ci")
        #expect(all.count == 7)
        #expect(resource(["OTEL_RESOURCE_ATTRIBUTES": "service.name=x"])["service.name"] == "x")
        #expect(resource(["OTEL_SERVICE_NAME": ""])["service.name"] == "lupin")
    }

    @Test func `there are 64 attributes at most`() {
        let text = (0..<500).map { "k\($0)=v" }.joined(separator: ",")
        #expect(resource(["OTEL_RESOURCE_ATTRIBUTES": text]).count == 64)
    }
}
