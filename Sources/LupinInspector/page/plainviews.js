// Decides how bytes show without a format: as text in pieces, or as a dump of what is seen.

import { button, el, remark } from "./dom.js";
import { counted, shownLines, size } from "./text.js";

const textMax = 1024 * 1024;
const linesMax = 20_000;
const chunkMax = 32 * 1024;

export const charsets = ["utf-8", "windows-1252", "utf-16le", "utf-16be", "shift_jis", "gb18030",
  "euc-kr", "koi8-r"];

/** The text of bytes. What is not valid becomes U+FFFD. */
export function decoded(bytes, charset) {
  try {
    return new TextDecoder(charset || "utf-8").decode(bytes);
  } catch {
    // The capture names a charset that does not exist.
    return new TextDecoder().decode(bytes);
  }
}

/** Whether the bytes read as text in UTF-8; the end may be cut. */
export function isText(bytes) {
  const part = bytes.subarray(0, 65_536);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: true });
    const controls = text.match(/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/g)?.length ?? 0;
    return controls * 100 <= text.length;
  } catch {
    return false;
  }
}

/** A text in pieces that are laid out when they are seen; a megabyte at a time. */
export function textView(text, { tone = "" } = {}) {
  const box = el("div", { class: `textview mono ${tone}`, tabindex: "0", role: "document" });
  let place = 0;
  const more = () => {
    const last = box.querySelector(":scope > button");
    last?.remove();
    let lines = 0;
    const end = Math.min(text.length, place + textMax);
    while (place < end && lines < linesMax) {
      const [next, count] = chunkEnd(text, place, end, linesMax - lines);
      // A line end before the next piece would be an empty line.
      const piece = text.slice(place, next).replace(/\r?\n$/, "");
      box.append(el("div.chunk", shownLines(piece)));
      lines += count;
      place = next;
    }
    if (place < text.length) {
      box.append(button(`Show more; ${size(text.length - place)} are left`, more));
    }
  };
  more();
  return box;
}

function chunkEnd(text, start, end, linesLeft) {
  let next = start;
  let count = 0;
  while (next < end && count < linesLeft) {
    const line = text.indexOf("\n", next);
    const after = line < 0 ? end : Math.min(end, line + 1);
    if (after - start > chunkMax && count > 0) break;
    // One line may be longer than a piece; it is broken there.
    next = Math.min(after, start + chunkMax);
    count += 1;
    if (next - start >= chunkMax) break;
  }
  return [next, Math.max(1, count)];
}

const columns = 16;
const lineHeight = 18;
const hexMax = 16 * 1024 * 1024;

/** A dump of bytes. Only the lines that are seen are made. */
export function hexView(bytes) {
  const shownBytes = bytes.subarray(0, hexMax);
  const count = Math.ceil(shownBytes.length / columns);
  const space = el("div.space");
  space.style.height = `${count * lineHeight}px`;
  const text = el("pre.seen");
  space.append(text);
  const draw = () => {
    const first = Math.max(0, Math.floor(view.scrollTop / lineHeight) - 5);
    const last = Math.min(count, first + 60);
    const lines = [];
    for (let line = first; line < last; line += 1) lines.push(dumpLine(shownBytes, line));
    text.style.transform = `translateY(${first * lineHeight}px)`;
    text.textContent = lines.join("\n");
  };
  const view = el("div.hexview.mono", { tabindex: "0", role: "document", onscroll: draw,
    "aria-label": `Dump of ${counted(shownBytes.length, "byte")}`,
  }, space);
  view.style.height = `${Math.min(24, Math.max(1, count)) * lineHeight + 12}px`;
  draw();
  if (shownBytes.length === bytes.length) return view;
  return el("div", view, remark(`The first ${size(hexMax)} are shown; download the rest.`));
}

function dumpLine(bytes, line) {
  const part = bytes.subarray(line * columns, (line + 1) * columns);
  let hex = "";
  let letters = "";
  for (let i = 0; i < columns; i += 1) {
    if (i === 8) hex += " ";
    if (i >= part.length) {
      hex += "   ";
      continue;
    }
    hex += ` ${part[i].toString(16).padStart(2, "0")}`;
    letters += part[i] >= 32 && part[i] < 127 ? String.fromCharCode(part[i]) : "·";
  }
  return `${(line * columns).toString(16).padStart(8, "0")} ${hex}  ${letters}`;
}
