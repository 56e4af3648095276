// That a change of the network is told at once, and a storm of changes not every time.
import Glibc
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct NetworkWatchTests {
    /// How often something was told.
    private final class Told {
        var count = 0
    }

    private static let kind = Int32(
        SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    )

    /// A socket in the place of the kernel's, and its other end.
    private func pair() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        // Safety: socketpair fills the two integers it is given.
        try SystemCall.check { unsafe socketpair(AF_UNIX, Self.kind, 0, &ends) }
        return (ends[0], ends[1])
    }

    /// Sends a message of so many bytes.
    private func send(_ count: Int = 100, to socket: borrowing Descriptor) throws {
        let message = [UInt8](repeating: 1, count: count)
        // Safety: the kernel reads `count` bytes, which the array has.
        try #require(unsafe Glibc.send(socket.raw, message, count, 0) == count)
    }

    @Test func `the first message is told at once, those behind it together`() async throws {
        let (near, far) = try pair()
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let far = Descriptor(owning: far)
            let told = Told()
            let watch = try NetworkWatch(Descriptor(owning: near), on: fixture.loop) {
                told.count += 1
            }
            await fixture.settle()
            #expect(told.count == 0)
            try send(to: far)
            await fixture.settle()
            #expect(told.count == 1)
            for count in [1, 70_000, 100] { try send(count, to: far) }
            await fixture.settle()
            try send(to: far)
            await fixture.settle()
            #expect(told.count == 1)
            try fixture.clock?.advance(by: NetworkWatch.spacing)
            await fixture.settle()
            #expect(told.count == 2)
            // Silence is no change.
            try fixture.clock?.advance(by: .seconds(5))
            await fixture.settle()
            #expect(told.count == 2)
            try send(to: far)
            await fixture.settle()
            #expect(told.count == 3)
            watch.close()
        }
    }

    @Test func `without a spacing everything that lies together is told as one`() async throws {
        let (near, far) = try pair()
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let far = Descriptor(owning: far)
            let told = Told()
            let watch = try NetworkWatch(
                Descriptor(owning: near),
                on: fixture.loop,
                spacing: .zero
            ) { told.count += 1 }
            for round in 1...3 {
                for _ in 0..<3 { try send(to: far) }
                await fixture.settle()
                #expect(told.count == round)
            }
            watch.close()
        }
    }

    @Test func `a failure to read is a change: messages were lost`() async throws {
        // Of UDP the kernel tells such a thing too: nobody is there to take what was sent.
        let watched = try forsakenSocket().release()
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let told = Told()
            let watch = try NetworkWatch(Descriptor(owning: watched), on: fixture.loop) {
                told.count += 1
            }
            // Safety: nothing is read of the text beyond its one byte.
            try #require(unsafe Glibc.send(watched, "?", 1, 0) == 1)
            await fixture.settle()
            #expect(told.count == 1)
            try fixture.clock?.advance(by: .seconds(1))
            await fixture.settle()
            #expect(told.count == 1)
            watch.close()
        }
    }

    @Test func `a closed watch tells nothing and has let go of its socket`() async throws {
        let (near, far) = try pair()
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let far = Descriptor(owning: far)
            let told = Told()
            var watch: NetworkWatch?
            watch = try NetworkWatch(Descriptor(owning: near), on: fixture.loop) {
                told.count += 1
                // From within, while it rests nothing more is to come.
                watch?.close()
            }
            try send(to: far)
            await fixture.settle()
            #expect(told.count == 1)
            let message: [UInt8] = [1]
            // Safety: the kernel reads the one byte that the array has.
            #expect(unsafe Glibc.send(far.raw, message, 1, Int32(MSG_NOSIGNAL)) == -1)
            try fixture.clock?.advance(by: .seconds(1))
            await fixture.settle()
            #expect(told.count == 1)
            weak let dropped = watch
            watch?.close()
            watch = nil
            await fixture.settle()
            #expect(dropped == nil)
        }
    }

    // MARK: The kernel itself

    @Test(.enabled(if: isTold, "this process gets no netlink socket"))
    func `this machine's network can be watched without privileges`() async throws {
        try await LoopFixture.run { fixture in
            let watch = try NetworkWatch(on: fixture.loop) {}
            await fixture.settle()
            watch.close()
        }
    }

    @Test(.enabled(if: Network.mayBeMade, "this process may make no network of its own"))
    func `a link that comes up is a change, and so is a flood of changes`() async throws {
        let (watched, control) = try #require(Network.make())
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let control = Descriptor(owning: control)
            let told = Told()
            let watch = try NetworkWatch(
                Descriptor(owning: watched),
                on: fixture.loop,
                spacing: .zero
            ) { told.count += 1 }
            await fixture.settle()
            #expect(told.count == 0)
            try Network.setLoopback(isUp: true, by: control)
            await fixture.settle()
            #expect(told.count == 1)
            // More than the socket holds, so that ENOBUFS is what is read first.
            for round in 0..<1000 { try Network.setLoopback(isUp: round % 2 == 1, by: control) }
            for _ in 0..<10 { await fixture.settle() }
            let all = told.count
            #expect(all > 1)
            await fixture.settle()
            #expect(told.count == all)
            try Network.setLoopback(isUp: false, by: control)
            await fixture.settle()
            #expect(told.count == all + 1)
            watch.close()
        }
    }

    private static var isTold: Bool {
        do {
            _ = try NetworkWatch.openSocket()
            return true
        } catch {
            return false
        }
    }

    /// A UDP socket that is connected to a port where nobody is any more.
    private func forsakenSocket() throws -> Descriptor {
        let near = Descriptor(owning: try SystemCall.check { socket(AF_INET, Self.kind, 0) })
        let far = Descriptor(owning: try SystemCall.check { socket(AF_INET, Self.kind, 0) })
        let (nearRaw, farRaw) = (near.raw, far.raw)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // Safety: the calls use no more than the struct's `length` bytes.
        try unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return }
            let form = unsafe base.assumingMemoryBound(to: sockaddr.self)
            try SystemCall.check { unsafe bind(farRaw, form, length) }
            try SystemCall.check { unsafe getsockname(farRaw, form, &length) }
            try SystemCall.check { unsafe connect(nearRaw, form, length) }
        }
        far.close()
        return near
    }
}

/// Networks of their own, in which nothing else is.
private enum Network {
    /// Whether this process may make one.
    static var mayBeMade: Bool {
        guard let (watched, control) = make() else { return false }
        Descriptor(owning: watched).close()
        Descriptor(owning: control).close()
        return true
    }

    /// Makes a network on a thread that ends, which leaves sockets of it: one that is told of
    /// changes, and one through which links are changed.
    static func make() -> (watched: Int32, control: Int32)? {
        let made = Mutex<(watched: Int32, control: Int32)?>(nil)
        guard let thread = try? HelperThread(name: "test-network", capacity: 1) else { return nil }
        thread.submit {
            guard TestThread.leaveNetwork(), let watched = try? NetworkWatch.openSocket() else {
                return
            }
            let control = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            let raw = watched.release()
            made.withLock { $0 = (raw, control) }
        }
        thread.join()
        return made.withLock(\.self)
    }

    static func setLoopback(isUp: Bool, by control: borrowing Descriptor) throws {
        let raw = control.raw
        // `struct ifreq`: a name of 16 bytes, then the flags, of which IFF_UP is the first.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<2, with: "lo".utf8)
        request[16] = isUp ? 1 : 0
        let setFlags: UInt = 0x8914
        // Safety: the kernel reads the 40 bytes of the struct, which the array has.
        try SystemCall.check {
            unsafe request.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe ioctl(raw, setFlags, base)
            }
        }
    }
}
