// What each key of the inspector does: in the list, in an open exchange, in the prompt.
import LupinCore
import LupinRecords

extension ExchangeInspector {
    /// Takes a key.
    package mutating func take(_ key: Key) -> [InspectorDemand] {
        defer { fit() }
        switch key {
        case .control("c"): return [.leave]
        case .control("z"): return [.suspend]
        case .control("l"): return [.redraw]
        default: break
        }
        if prompt != nil { return takeInPrompt(key) }
        note = nil
        if page != nil { return takeInPage(key) }
        if key == .text("q") { return [.leave] }
        if let demands = takeAction(key) { return demands }
        return detail == nil ? takeInList(key) : takeInDetail(key)
    }

    private mutating func takeInPrompt(_ key: Key) -> [InspectorDemand] {
        promptProblem = []
        switch prompt?.take(key) {
        case .accepted: return apply(prompt?.text ?? "")
        case .cancelled: prompt = nil
        case .edited, nil: break
        }
        return []
    }

    /// Takes a filter; a wrong one stays in the prompt.
    private mutating func apply(_ text: String) -> [InspectorDemand] {
        let text = String(text.drop { $0 == " " })
        do throws(FilterProblem) {
            compiled = try ExchangeFilter(text)
        } catch {
            promptProblem = error.sentence(in: text)
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            return []
        }
        prompt = nil
        guard text != filter else { return [] }
        filter = text
        turn += 1
        lastID = nil
        isLoaded = false
        isAskingForOlder = false
        list.clear()
        isPolling = true
        return [.ask(.live)]
    }

    private mutating func takeInPage(_ key: Key) -> [InspectorDemand] {
        let height = detailHeight
        switch key {
        case .down, .text("j"): page?.top += 1
        case .up, .text("k"): page?.top -= 1
        case .pageDown, .text(" "): page?.top += height
        case .pageUp: page?.top -= height
        default: page = nil
        }
        let last = max(0, pageLines.count - height)
        let top = max(0, min(page?.top ?? 0, last))
        page?.top = top
        return []
    }

    /// What a key does in the list and in an open exchange alike; nil for other keys.
    private mutating func takeAction(_ key: Key) -> [InspectorDemand]? {
        guard case .text(let letter) = key else { return nil }
        switch letter {
        case "?":
            page = Page(title: "keys", lines: Self.keys)
        case "s", "e", "y", "x", "c":
            guard let row = detail.map({ $0.detail?.row }) ?? list.selected else { return [] }
            return act(letter, on: row)
        default: return nil
        }
        return []
    }

    private mutating func act(_ letter: Unicode.Scalar, on row: ExchangeRow) -> [InspectorDemand] {
        switch letter {
        case "x":
            guard row.isLive else {
                note = Note(text: "It has ended already.")
                return []
            }
            return [.ask(.cancel(id: row.id))]
        case "c":
            guard !row.host.isEmpty else { return [] }
            return [.ask(.capture(host: row.host))]
        default: break
        }
        guard !row.isLive else {
            note = Note(text: "It is under way; wait for its end, or cut it with x.")
            return []
        }
        switch letter {
        case "s": return [.ask(.send(json: RequestText.again(row.id)))]
        case "y":
            guard let json = detail?.detail?.json else {
                return [.ask(.detailForCurl(id: row.id))]
            }
            return showCurl(json)
        default:
            guard let json = detail?.detail?.json else {
                return [.ask(.detailToEdit(id: row.id))]
            }
            return edit(json, id: row.id)
        }
    }

    private mutating func takeInList(_ key: Key) -> [InspectorDemand] {
        let height = listHeight
        switch key {
        case .up, .text("k"): list.move(by: -1)
        case .down, .text("j"): list.move(by: 1)
        case .pageUp, .control("b"), .control("u"): list.move(by: -height)
        case .pageDown, .control("f"), .control("d"): list.move(by: height)
        case .home, .text("g"): list.moveToStart()
        case .end, .text("G"), .text("f"): list.follow()
        case .text(" "), .text("p"): list.togglePause()
        case .text("/"):
            prompt = PromptLine(filter)
            return []
        case .enter, .right:
            return list.selected.map { open($0.id) } ?? []
        default: return []
        }
        return askForOlder()
    }

    /// Asks for older rows when the first one is reached.
    private mutating func askForOlder() -> [InspectorDemand] {
        guard list.selectedIndex == 0, list.mayHaveOlder, !isAskingForOlder,
            let first = list.ended.first
        else { return [] }
        isAskingForOlder = true
        return [.ask(.older(filter: filter, before: first.id, turn: turn))]
    }

    private mutating func takeInDetail(_ key: Key) -> [InspectorDemand] {
        let height = detailHeight
        var requests: [InspectorRequest] = []
        switch key {
        case .escape, .backspace: detail = nil
        case .text(let digit) where ("1"..."6").contains(digit):
            let number = Int(digit.value - 0x30)
            requests = DetailView.Tab(rawValue: number).flatMap { detail?.show($0) } ?? []
        case .tab: requests = detail?.step(by: 1) ?? []
        case .backTab: requests = detail?.step(by: -1) ?? []
        case .left, .text("h"): requests = detail?.stepSide(by: -1) ?? []
        case .right, .text("l"): requests = detail?.stepSide(by: 1) ?? []
        case .text("v"): detail?.stepForm()
        case .up, .text("k"): detail?.scroll(by: -1)
        case .down, .text("j"), .enter: detail?.scroll(by: 1)
        case .pageUp, .control("b"), .control("u"): detail?.scroll(by: -height)
        case .pageDown, .text(" "), .control("f"), .control("d"): detail?.scroll(by: height)
        case .home, .text("g"): detail?.scroll(to: 0)
        case .end, .text("G"): detail?.scroll(to: .max / 2)
        case .text("["): return openNeighbour(-1)
        case .text("]"): return openNeighbour(1)
        default: break
        }
        return requests.map { .ask($0) }
    }

    private mutating func openNeighbour(_ step: Int) -> [InspectorDemand] {
        let before = list.selected?.id
        list.move(by: step)
        guard let row = list.selected, row.id != before else { return [] }
        return open(row.id)
    }

    mutating func open(_ id: String) -> [InspectorDemand] {
        // The user looks at one row while others come.
        list.select(id: id)
        var opened = DetailView(id: id)
        if let tab = detail?.tab { _ = opened.show(tab) }
        detail = opened
        fit()
        return [.ask(.detail(id: id))]
    }

    // MARK: Editing, and as a command

    /// Edits the request of an exchange, with its body if that is captured.
    mutating func edit(_ json: JSONValue, id: String) -> [InspectorDemand] {
        let body = json["bodies"]?.list?.first { $0["side"]?.string == "request" }
        guard (body?["kept"]?.count ?? 0) > 0 else { return edit(json, body: nil) }
        return [.ask(.bodyToEdit(id: id, detail: json))]
    }

    mutating func edit(_ json: JSONValue, body: [UInt8]?) -> [InspectorDemand] {
        do throws(RequestTextProblem) {
            return [.edit(try RequestText(detail: json, body: body))]
        } catch {
            note = Note(text: error.message, isBad: true)
            return []
        }
    }

    /// Takes what the editor saved; nil when it saved nothing.
    package mutating func edited(_ text: RequestText, saved: [UInt8]?) -> [InspectorDemand] {
        guard let saved else {
            note = Note(text: "Nothing was saved, so nothing was sent.")
            return []
        }
        do throws(RequestTextProblem) {
            return [.ask(.send(json: try text.json(saved: saved)))]
        } catch {
            note = Note(text: error.message, isBad: true)
            return []
        }
    }

    /// Shows a sentence of the driver.
    package mutating func tell(_ text: String, isBad: Bool) {
        note = Note(text: text, isBad: isBad)
    }

    mutating func showCurl(_ json: JSONValue) -> [InspectorDemand] {
        do throws(CurlProblem) {
            guard let exchange = RecordedExchange(json) else {
                throw CurlProblem(message: "the exchange has not ended")
            }
            let text = try exchange.originalCommand().text
            page = Page(title: "curl, copied to the clipboard", lines: [])
            page?.lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
            return [.copy(text)]
        } catch {
            note = Note(text: error.message, isBad: true)
            return []
        }
    }

    /// The page that `?` shows.
    static let keys = """
        in the list
          ↑ ↓ PgUp PgDn     select an exchange; Home goes to the oldest
          End or f          follow: stay at the latest one
          Space or p        pause, and go on with what came meanwhile
          /                 filter (lupin help filters); an empty one shows all
          Enter             open the exchange

        in an open exchange
          1 … 6 or Tab      Request, Response, Body, Waterfall, Explain, Messages
          ↑ ↓ PgUp PgDn     scroll
          ← →               another body: of the request or the response, before or
                            after the rules
          v                 show the body as JSON, text or hexadecimal digits
          [ ]               the exchange before, and the next one
          Esc               back to the list

        in both
          s                 send the request again, through the rules
          e                 edit the request in $VISUAL or $EDITOR, then send it
          y                 copy it as a curl command, and show that
          x                 cut an exchange that is under way
          c                 turn capture of bodies on or off for its host
          Ctrl-L            draw the screen anew
          Ctrl-Z            stop; fg goes on
          q or Ctrl-C       leave
        """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}
