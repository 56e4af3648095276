// That a spill file gives back what was put into it, and leaves nothing behind.
import CLinux
import Foundation
import Glibc
import LupinIO
import Testing

struct SpillFileTests {
    /// How the file comes to be without a name.
    enum Way: CaseIterable, Sendable {
        case nameless, unlinked

        func open(in folder: String) throws(SystemError) -> SpillFile {
            switch self {
            case .nameless: try SpillFile(in: folder)
            case .unlinked: SpillFile(owning: try SpillFile.openNamed(in: folder))
            }
        }
    }

    /// Bytes in which one that is lost, or comes twice, shows: 251 of them again and again, which
    /// is prime to all sizes of buffers.
    private func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
        let block = Array(UInt8(0)..<251)
        var bytes: [UInt8] = []
        while bytes.count < start + count { bytes += block }
        return Array(bytes[start..<start + count])
    }

    /// All that a reader still has, in the pieces in which it came.
    private func pieces(of reader: SpillReader) throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        while try reader.fill() {
            let front = reader.front
            pieces.append(front.indices.map { front[$0] })
            reader.discard(front.count)
        }
        return pieces
    }

    private func names(in folder: borrowing PrivateFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test(arguments: Way.allCases)
    func `what was appended is read, wherever it is asked for`(way: Way) throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try way.open(in: folder.path)
        #expect(file.isEmpty)
        let all = pattern(200_001)
        for start in stride(from: 0, to: all.count, by: 30_000) {
            try file.append(all.span.extracting(start..<min(all.count, start + 30_000)))
        }
        #expect(file.count == 200_001)
        for (offset, room) in [(0, 65_536), (65_535, 3), (1, 300_000), (200_000, 10)] {
            var buffer = [UInt8](repeating: 0xEE, count: room)
            let count = try file.read(at: UInt64(offset), into: &buffer)
            #expect(count == min(room, all.count - offset))
            #expect(buffer[..<count] == all[offset..<offset + count])
            #expect(buffer[count...].allSatisfy { $0 == 0xEE })
        }
    }

    @Test(arguments: [200_001, 200_002, UInt64.max])
    func `behind the end there is nothing`(offset: UInt64) throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try SpillFile(in: folder.path)
        try file.append(pattern(200_001).span)
        var buffer: [UInt8] = [1, 2, 3]
        #expect(try file.read(at: offset, into: &buffer) == 0)
        #expect(buffer == [1, 2, 3])
    }

    @Test func `nothing is appended and nothing is read without a call of the kernel`() throws {
        let file = SpillFile(owning: Descriptor(owning: -1))
        try file.append([UInt8]().span)
        var none: [UInt8] = []
        #expect(try file.read(at: 0, into: &none) == 0)
        #expect(file.isEmpty)
    }

    @Test(arguments: Way.allCases)
    func `the folder is empty while the file is open`(way: Way) throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try way.open(in: folder.path)
        try file.append(pattern(10).span)
        #expect(try names(in: folder) == [])
        let descriptor = try #require(openFile(in: folder.path))
        var status = stat()
        // Safety: fstat fills the struct it is given.
        try #require(unsafe fstat(descriptor, &status) == 0)
        #expect(status.st_nlink == 0)
        #expect(status.st_mode & 0o177 == 0)
        #expect(status.st_size == 10)
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
        withExtendedLifetime(file) {}
    }

    @Test func `closing is letting go`() throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        do {
            let file = try SpillFile(in: folder.path)
            #expect(openFile(in: folder.path) != nil)
            withExtendedLifetime(file) {}
        }
        #expect(openFile(in: folder.path) == nil)
    }

    @Test func `a full disk leaves the count as it was`() throws {
        // Writing to /dev/full is writing to a disk without room.
        let full = try SystemCall.check { unsafe open("/dev/full", O_RDWR | O_CLOEXEC) }
        let file = SpillFile(owning: Descriptor(owning: full))
        #expect(throws: SystemError(code: ENOSPC)) { try file.append(pattern(10).span) }
        #expect(file.count == 0)
    }

    @Test func `a file that others have cut is an error, not an end`() throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try SpillFile(in: folder.path)
        try file.append(pattern(100).span)
        try #require(ftruncate(try #require(openFile(in: folder.path)), 60) == 0)
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(throws: SystemError(code: EIO)) { try file.read(at: 0, into: &buffer) }
    }

    @Test func `a folder that is not there, or is none, is an error`() throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        #expect(throws: SystemError(code: ENOENT)) {
            try SpillFile(in: "\(folder.path)/missing")
        }
        #expect(throws: SystemError(code: ENOTDIR)) { try SpillFile(in: "/dev/null") }
    }

    // MARK: Readers

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_001])
    func `a reader goes through all of it in large pieces`(count: Int) throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try SpillFile(in: folder.path)
        try file.append(pattern(count).span)
        let reader = SpillReader(file)
        #expect(reader.remaining == UInt64(count))
        let pieces = try pieces(of: reader)
        #expect(pieces.flatMap(\.self) == pattern(count))
        #expect(pieces.count == (count + SpillReader.pieceBytes - 1) / SpillReader.pieceBytes)
        #expect(reader.remaining == 0)
    }

    @Test func `a reader goes on where the file has grown`() throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let file = try SpillFile(in: folder.path)
        let reader = SpillReader(file)
        let other = SpillReader(file)
        #expect(try !reader.fill())
        try file.append(pattern(100).span)
        #expect(try reader.fill())
        reader.discard(40)
        try file.append(pattern(100_000, from: 100).span)
        #expect(reader.remaining == 100_060)
        // What was read is offered first.
        #expect(try reader.fill())
        #expect(reader.front.count == 60)
        let rest = try pieces(of: reader)
        #expect(rest.flatMap(\.self) == pattern(100_060, from: 40))
        #expect(rest.map(\.count) == [60, 65_536, 34_464])
        #expect(try pieces(of: other).flatMap(\.self) == pattern(100_100))
    }

    // MARK: The folder

    @Test(arguments: [nil, "", "relative", "/nowhere/at/all", "/dev/null"])
    func `without a folder of the user's it is one of the machine's`(named: String?) {
        let folder = SpillFile.folder(named.map { ["TMPDIR": $0] } ?? [:])
        #expect(["/var/tmp", "/tmp"].contains(folder))
    }

    @Test func `a folder of the user's comes first`() throws {
        let folder = try PrivateFolder(in: NSTemporaryDirectory())
        let path = folder.path
        #expect(SpillFile.folder(["TMPDIR": path]) == path)
    }

    /// The descriptor of this process that is open on a file in a folder, whatever its name was.
    private func openFile(in folder: String) -> Int32? {
        let files = FileManager.default
        let name = folder.split(separator: "/").last ?? ""
        for number in (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            if let target, target.contains("/\(name)/") { return Int32(number) }
        }
        return nil
    }
}
