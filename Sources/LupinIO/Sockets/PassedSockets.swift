// Listening sockets that the service manager opened for this process: sd_listen_fds(3).
import CLinux
import Glibc
import LupinCore

/// Why a passed descriptor can't be used, as a sentence.
package struct PassedSocketProblem: Error, Sendable, Equatable {
    package let message: String

    package init(message: String) { self.message = message }
}

/// A listening socket that this process was started with; it stays open as long as the value.
package final class PassedSocket: Sendable {
    /// Where a socket listens.
    package enum Endpoint: Sendable, Equatable {
        case address(SocketAddress)
        case path(String)
    }

    package let endpoint: Endpoint
    /// The `FileDescriptorName=` of the unit; "unknown" if it says nothing.
    package let name: String
    let raw: Int32

    /// Takes over a descriptor.
    package init(owning raw: Int32, name: String) throws(PassedSocketProblem) {
        let what = "descriptor \(raw) from the service manager (\(LogText.plain(name)))"
        let owned = Descriptor(owning: raw)
        do throws(SystemError) {
            try SystemCall.check { linux_adopt(raw) }
        } catch {
            // There is nothing to close.
            _ = owned.release()
            throw PassedSocketProblem(message: "\(what) is not open: \(error.message)")
        }
        guard linux_is_listening(raw) != 0 else {
            throw PassedSocketProblem(
                message: "\(what) is no listening stream socket: write ListenStream= in its unit"
            )
        }
        if let address = SocketAddress.local(of: raw) {
            endpoint = .address(address)
        } else if let path = Self.path(of: raw) {
            endpoint = .path(path)
        } else {
            throw PassedSocketProblem(
                message: "\(what) listens neither on an IP address nor on a path"
            )
        }
        self.name = name
        self.raw = owned.release()
    }

    deinit { _ = Glibc.close(raw) }

    /// `127.0.0.1:8080`, `/run/lupin.sock`.
    package var text: String {
        switch endpoint {
        case .address(let address): address.description
        case .path(let path): path
        }
    }

    /// A copy of the descriptor for a listener, which closes its own.
    func duplicate() throws(SystemError) -> Descriptor {
        Descriptor(owning: try SystemCall.check { linux_duplicate(raw) })
    }

    private static func path(of raw: Int32) -> String? {
        var bytes = [CChar](repeating: 0, count: 128)
        // Safety: the call writes at most the given number of bytes.
        let count = unsafe bytes.withUnsafeMutableBufferPointer { pointer in
            guard let base = pointer.baseAddress else { return 0 }
            return unsafe linux_local_path(raw, base, pointer.count)
        }
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: The variables

    private static let firstDescriptor: Int32 = 3
    /// The maximum number of sockets; a unit for lupin has a handful.
    private static let countMax = 256

    /// Takes over the sockets that the variables promise this process; none if they are another's.
    ///
    /// Call it once, before the process opens anything.
    package static func all(
        _ variables: ServiceVariables
    ) throws(PassedSocketProblem) -> [PassedSocket] {
        guard variables.isForThisProcess("LISTEN_PID") == true else { return [] }
        let text = variables["LISTEN_FDS"] ?? "0"
        guard let count = NumberReader.unsigned(text[...], max: UInt64(countMax)) else {
            let shown = LogText.plain(text)
            throw PassedSocketProblem(
                message: "LISTEN_FDS is \"\(shown)\": expected a number up to \(countMax)"
            )
        }
        let names = (variables["LISTEN_FDNAMES"] ?? "").split(
            separator: ":",
            omittingEmptySubsequences: false
        )
        var sockets: [PassedSocket] = []
        for index in 0..<Int(clamping: count) {
            let name = index < names.count && !names[index].isEmpty ? names[index] : "unknown"
            let raw = firstDescriptor + Int32(truncatingIfNeeded: index)
            sockets.append(try PassedSocket(owning: raw, name: String(name)))
        }
        return sockets
    }
}
