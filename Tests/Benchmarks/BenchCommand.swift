// The command line of `lupin-bench`: which commands there are, and what they start from.
import ArgumentParser
import Foundation

/// Everything that is done with lupin from outside, on this machine.
@main
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lupin-bench",
        abstract: "Measures and tries lupin, on this machine and over loopback only.",
        subcommands: [
            MeasureCommand.self, StormCommand.self, OriginCommand.self, LoadCommand.self,
            StormLoadCommand.self,
        ],
        defaultSubcommand: MeasureCommand.self
    )

    /// This program.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// A program in the same folder.
    static func pathBeside(_ name: String) throws -> String {
        URL(fileURLWithPath: try ownPath()).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    /// A new temporary folder, for this user alone.
    static func makeDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("lupin-bench-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        return directory
    }
}
