// Decodes `respond:` of a rule: a status, fields, and a body, a file or a folder.

import LupinPolicy

extension DecodingContext {
    /// Decodes `{status, headers, body | file | folder}`; returns nil after reporting a problem.
    ///
    /// Files are read for each request, so they may change and be added later.
    func respond(_ node: YAMLNode) -> CannedResponse? {
        let example = "{status: 403}"
        guard let entries = entries(node, of: "an answer", example: example) else { return nil }
        var response = CannedResponse(status: 0)
        let known = ["status", "headers", "body", "file", "folder"]
        var content: YAMLNode.Entry?
        for entry in entries {
            switch entry.key {
            case "status":
                guard let status = number(entry.value, in: 200...599, what: "status") else {
                    return nil
                }
                response.status = UInt16(truncatingIfNeeded: status)
            case "headers": response.fields = fields(entry.value)
            case "body", "file", "folder":
                if let content {
                    let message = "\"\(content.key)\" and \"\(entry.key)\" exclude each other"
                    return refuse(.key, message, at: entry.value, hint: "leave one of them out")
                }
                content = entry
                guard let read = self.content(entry) else { return nil }
                response.content = read
            default: unknownKey(entry, in: "respond", known: known)
            }
        }
        if response.status == 0 {
            guard response.readsFile else {
                let message = "\"respond\" has no \"status\""
                return refuse(.key, message, at: node, hint: "write \(example)")
            }
            response.status = 200
        }
        let isEmpty = response.content == .none || response.content == .text(Template(""))
        if let content, !isEmpty, [204, 205, 304].contains(response.status) {
            let message = "a \(response.status) has no body"
            error(.range, message, at: content.value, hint: "leave it out")
        }
        return response
    }

    private func content(_ entry: YAMLNode.Entry) -> CannedResponse.Content? {
        let node = entry.value
        if entry.key == "body" {
            guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain)
            else { return wrongType(node, "a text", write: bodyAdvice(for: node)) }
            return template(raw, role: .body, at: node).map { .text($0) }
        }
        let isFolder = entry.key == "folder"
        let example = isFolder ? "mock" : "mock/users.json"
        guard let text = text(node, expected: "a path", example: example),
            let path = path(text, as: .answers, at: node)
        else { return nil }
        let isThere = isFolder ? surroundings.isDirectory(path) : surroundings.isFile(path)
        noteUnread()
        if !isThere {
            let isOther = isFolder ? surroundings.isFile(path) : surroundings.isDirectory(path)
            let other = isFolder ? "a file" : "a folder; folder: \(text) answers with its files"
            let hint = isFolder ? "mkdir -p \(path)" : "requests get 502 until it is there"
            warning(
                .file,
                isOther
                    ? "\(path) is \(other)" : "there is no \(entry.key) \(path) yet",
                at: node,
                hint: isOther ? "requests get 502" : hint
            )
        }
        // Below the folder, the kernel keeps to it; no other user may choose what it has.
        refuse(surroundings.openWay(path), since: "lupin answers with \(text)", at: node)
        return isFolder ? .folder(path) : .file(path)
    }

    /// What to write instead of a body that is no text.
    private func bodyAdvice(for node: YAMLNode) -> String {
        guard case .map(let entries) = node.content,
            let entry = entries.first(where: { ["file", "folder"].contains($0.key) }),
            case .scalar(let path, _) = entry.value.content
        else { return "\"blocked\"" }
        return "\(entry.key): \(path) in place of body"
    }

    private func fields(_ node: YAMLNode) -> [(name: String, value: String)] {
        let example = "{Content-Type: text/plain}"
        let entries = entries(node, of: "names and values", example: example) ?? []
        return entries.compactMap { entry in
            guard mayChange(entry.key, at: entry),
                let value = fieldValue(entry.value, role: .setting)
            else { return nil }
            guard case .text(let text)? = value.parts.first else { return (entry.key, "") }
            return (entry.key, text)
        }
    }
}
