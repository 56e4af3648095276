// The tape of `lupin exec`: where it is recorded, and what it says when it was played.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRecords

/// A tape that one command is recorded on, or answered from.
final class Cassette: Sendable {
    /// The file of the tape.
    private let path: String
    /// Where the tape is written, opened before the command could change the way there.
    private let target: (folder: HeldFolder, name: String, begun: String?)?
    /// What is played; nil while recording.
    let deck: TapeDeck?
    /// Where exchanges are kept until the tape is written; nil while playing.
    private let folder: RecordingFolder?

    /// Prepares to record.
    /// - Throws: `ExitCode.failure` when the tape could not be written; that was said.
    init(recordingTo path: String) throws {
        self.path = path
        deck = nil
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        // Known before the command has run, which may take long.
        guard !name.isEmpty, PublicFile.mayWrite(to: parent),
            let opened = try? HeldFolder(parent)
        else { throw ExitCode.failure("cannot write a tape to \(parent)") }
        target = (folder: opened, name: name, begun: opened.target)
        do throws(SystemError) {
            folder = try RecordingFolder(in: UserFolder.temporary(LocatedRules.environment))
        } catch {
            throw ExitCode.failure(
                UserFolder.problem(ofTemporary: LocatedRules.environment, error)
            )
        }
    }

    /// Reads a tape to play.
    /// - Throws: `ExitCode.failure` when it can't be read; that was said.
    init(playing path: String, _ settings: TapeSettings) throws {
        self.path = path
        folder = nil
        target = nil
        do {
            let content = try FileContent(path: path, bytesMax: ArchiveReader.bytesMax)
            deck = TapeDeck(try Tape(content.bytes.span, settings))
        } catch let problem as ArchiveProblem {
            throw ExitCode.failure("cannot play \(path): \(problem.sentence)")
        } catch let error as SystemError {
            throw ExitCode.failure("cannot read \(path): \(error.message)")
        }
    }

    /// The configuration of a proxy that records, or that plays.
    func configuration(_ usual: Configuration) -> Configuration {
        folder.map { usual.recording(in: $0.path) } ?? usual.playing
    }

    /// Writes the tape, or says what was not on it; returns the exit code.
    ///
    /// `code` is that of the command.
    func finish(_ code: ExitCode) -> ExitCode {
        if let deck {
            let misses = deck.misses
            if misses > 0 {
                let what = misses == 1 ? "1 request was" : "\(misses) requests were"
                StandardError.print("lupin: \(what) not on the tape \(path)")
            }
            let withoutContent = deck.withoutContent
            if withoutContent > 0 {
                let what = withoutContent == 1 ? "1 answer is" : "\(withoutContent) answers are"
                StandardError.print("lupin: \(what) without readable content on the tape \(path)")
            }
            return code
        }
        guard let folder, let target else { return code }
        let recording: TapeRecording
        do throws(ArchiveProblem) {
            recording = try TapeRecording(from: folder.path, version: VersionText.lupin)
        } catch {
            return failed("the tape \(path) was not written: \(error.sentence)", code)
        }
        do throws(SystemError) {
            try WholeFile.write(recording.archive, to: "\(target.folder.path)/\(target.name)")
        } catch {
            return failed("the tape \(path) was not written: \(error.message)", code)
        }
        let count = recording.exchanges
        let now = target.folder.target
        // The command may have moved the folder.
        let written = now == target.begun ? path : now.map { LogText.plain("\($0)/\(target.name)") }
        let tape = written ?? path
        StandardError.print("lupin: \(count) exchange\(count == 1 ? "" : "s") on the tape \(tape)")
        if recording.brokenOff > 0 {
            let count = recording.brokenOff
            let what = count == 1 ? "1 response of the tape" : "\(count) responses of the tape"
            StandardError.print("lupin: warning: \(what) broke off, and will break off in a replay")
        }
        if recording.ownAnswers > 0 {
            let count = recording.ownAnswers
            let what =
                count == 1
                ? "1 answer on the tape is lupin's own error"
                : "\(count) answers on the tape are lupin's own errors"
            StandardError.print("lupin: warning: \(what), and no server's")
        }
        if recording.tunnels > 0 {
            let tunnels = recording.tunnels
            let what = tunnels == 1 ? "1 connection was" : "\(tunnels) connections were"
            StandardError.print("lupin: warning: \(what) not decrypted, and is not on the tape")
        }
        return code
    }

    /// A command that failed keeps its exit code.
    private func failed(_ text: String, _ code: ExitCode) -> ExitCode {
        StandardError.print("lupin: error: \(text)")
        return code == .success ? .failure : code
    }
}

/// A folder that is removed with the last reference to it.
private final class RecordingFolder: Sendable {
    private let folder: PrivateFolder

    /// The folder for captured exchanges.
    var path: String { "\(folder.path)/capture" }

    init(in parent: String) throws(SystemError) { folder = try PrivateFolder(in: parent) }
}
