// Methods and fields of a request on the command line.
import ArgumentParser
import LupinConsole
import LupinCore

/// `-H 'Name: value'`.
struct FieldArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = String(argument[..<colon])
        let value = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard ExplainedRequest.isField(name: name, value: String(value)) else { return nil }
        self.name = name
        self.value = String(value)
    }
}

/// `-X METHOD`.
struct MethodArgument: ExpressibleByArgument {
    let method: Method

    init?(argument: String) {
        guard !argument.isEmpty, argument.utf8.allSatisfy(\.isTokenByte) else { return nil }
        method = Method(argument)
    }
}
