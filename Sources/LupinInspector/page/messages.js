// Decides how the messages of WebSockets, gRPC and Connect show: a list in their order, fetched in
// pages.

import { bodyView, structured } from "./bodyview.js";
import { button, el, remark } from "./dom.js";
import { entries } from "./entries.js";
import { attempt } from "./notice.js";
import { hexView } from "./plainviews.js";
import { clock, counted, listOf, shown, size } from "./text.js";

const pageCount = 200;

/** Bytes of base64; nothing where it is broken. */
export function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function view(message) {
  if (message.kind === "compressed") {
    return remark("lupin can't undo its coding, so it is not kept.");
  }
  if (typeof message.text === "string") {
    return message.text === "" ? remark("It is empty.") : structured(message.text);
  }
  const bytes = fromBase64(String(message.base64 ?? ""));
  if (bytes.length === 0) return remark("It is empty.");
  return message.kind === "protobuf" ? bodyView(bytes, "", { form: "protobuf" }) : hexView(bytes);
}

function describe(message) {
  const isClient = message.from === "client";
  const start = typeof message.text === "string" ? shown(message.text.slice(0, 200)) : "";
  return {
    title: [isClient ? "↑ client" : "↓ origin", clock(Date.parse(message.time)),
      shown(message.kind), size(message.bytes), start, message.truncated ? "cut" : ""],
    tone: isClient ? "from-client" : "from-origin",
    content: () => view(message),
  };
}

/** The list; `count` messages were known when the exchange was asked for. */
export function messagesView(source, id, count) {
  const box = el("div");
  const more = button("Load more", () => load());
  let last = 0;
  const load = () => attempt(async () => {
    const found = listOf(await source.messages(id, last, pageCount));
    if (found.length > 0) {
      last = found.at(-1).number;
      box.append(entries(found, describe));
    }
    more.textContent = found.length < pageCount ? "Look for newer messages" : "Load more";
  });
  load();
  return el("section.body", el("h3", "Messages"),
    el("p.told", counted(count, "message")), box, more);
}
