// That names are found in a list of names and globs, whatever their case.
import LupinCore
import Testing

struct NameSetTests {
    private func contains(_ name: String, _ names: [String]) -> Bool {
        let name = Array(name.utf8)
        return NameSet(names).contains(name.span)
    }

    @Test(
        arguments: [
            ("X-Api-Key", ["x-api-key"]), ("x-api-key", ["X-API-Key"]), ("a-token", ["*-token"]),
            ("-TOKEN", ["*-token"]), ("a-token-token", ["*-token"]), ("password", ["*password*"]),
            ("my-PassWord-2", ["*password*"]), ("abc", ["a*c"]), ("ac", ["a*c"]), ("", ["*"]),
            ("any", ["*"]), ("a", ["b", "*a"]), ("List[0]", ["list[*"]), ("a[B]", ["*-c", "*[b]"]),
        ]
    )
    func `a name is on the list`(_ name: String, _ names: [String]) {
        #expect(contains(name, names))
    }

    @Test(
        arguments: [
            ("x-api-keys", ["x-api-key"]), ("token", ["*-token"]), ("a-tokens", ["*-token"]),
            ("passwor", ["*password*"]), ("acb", ["a*c"]), ("a", ["a*c", "a*a"]),
            ("", ["a", "*a"]), ("any", []),
        ]
    )
    func `a name is not on the list`(_ name: String, _ names: [String]) {
        #expect(!contains(name, names))
    }
}
