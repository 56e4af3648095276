// How an address reads, and that it comes back from the kernel as it went there.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct SocketAddressTests {
    @Test(
        arguments: [
            (IPAddress.v4(0x7F00_0001), 80, "127.0.0.1:80"),
            (.v6(high: 0, low: 1), 8080, "[::1]:8080"),
            (.v6(high: 0x2001_0DB8_0000_0000, low: 2), 65_535, "[2001:db8::2]:65535"),
        ] as [(IPAddress, UInt16, String)]
    )
    func `an address reads as in a URL`(address: IPAddress, port: UInt16, text: String) {
        #expect(SocketAddress(address: address, port: port).description == text)
    }

    @Test(arguments: [
        SocketAddress.loopback(port: 0, host: 1), .loopback(port: 0, host: 254),
        .loopback6(port: 0),
    ])
    func `the kernel gives back the address it was given`(wanted: SocketAddress) throws {
        let socket = try ListeningSocket(wanted)
        #expect(socket.address.address == wanted.address)
        #expect(socket.address.port != 0)
        let client = try PlainSocket.connect(to: socket.address)
        #expect(client.address?.address == wanted.address || wanted.address != .v4(0x7F00_0001))
    }
}
