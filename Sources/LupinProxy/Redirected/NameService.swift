// The name server of a command that has no network.
import LupinCore
package import LupinIO
import LupinWire

/// A name server that asks no other one.
///
/// Every name gets an address; the name is resolved only when something is sent there.
package struct NameService {
    private let names: FakeIPPool

    package init(_ names: FakeIPPool) { self.names = names }

    /// Answers until `slot` is woken by `.cut`.
    package func serve(_ socket: DatagramSocket, slot: ParkingSlot) async throws(SystemError) {
        try await socket.serve(slot: slot) { answer($0.bytes) }
    }

    /// The answer to a message; nil for none.
    func answer(_ message: [UInt8]) -> [UInt8]? {
        switch NameQuestion.read(message) {
        case .nothing: nil
        case .answered(let answer): answer
        case .question(let question): answer(question)
        }
    }

    private func answer(_ question: NameQuestion) -> [UInt8] {
        guard let host = Host(question.name), host.address == nil else { return question.absence }
        // The loopback interface is the command's own (RFC 6761 §6.3).
        if host.isLoopback {
            return question.answer(
                question.kind == .ipv6 ? .v6(high: 0, low: 1) : .v4(0x7F00_0001)
            )
        }
        // Only a query for IPv4 addresses takes one from the pool.
        guard question.kind == .ipv4 else { return question.answer(nil) }
        return question.answer(names.address(of: host.text))
    }
}
