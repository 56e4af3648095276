// The variables that promise sockets: what they mean, and what is refused in them.
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct PassedSocketsTests {
    private func problem(_ variables: [String: String]) -> String? {
        do throws(PassedSocketProblem) {
            _ = try PassedSocket.all(ServiceVariables(variables))
            return nil
        } catch {
            return error.message
        }
    }

    @Test(arguments: [
        [:], ["LISTEN_FDS": "1"], ["LISTEN_FDS": "1", "LISTEN_PID": "1"],
        ["LISTEN_FDS": "1", "LISTEN_PID": "\(getpid())x"],
        ["LISTEN_FDS": "0", "LISTEN_PID": "\(getpid())"],
    ])
    func `sockets of another process are left alone`(variables: [String: String]) throws {
        #expect(try PassedSocket.all(ServiceVariables(variables)).isEmpty)
    }

    @Test(arguments: ["", "-1", "x", "257", "99999999999999999999"])
    func `a count that is none is refused`(count: String) {
        let variables = ["LISTEN_FDS": count, "LISTEN_PID": "\(getpid())"]
        #expect(problem(variables) == "LISTEN_FDS is \"\(count)\": expected a number up to 256")
    }
}
