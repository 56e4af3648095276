// Decides in which form the bytes of a body show: by type and content, never as markup.

import { copyButton } from "./clipboard.js";
import { address, el, facts, fill, remark } from "./dom.js";
import { parseJSON, parseJSONLines } from "./json.js";
import { treeView } from "./jsontree.js";
import { entries } from "./entries.js";
import { formPairs, multipart, parameter, serverEvents } from "./parts.js";
import { decoded, hexView, isText, textView } from "./plainviews.js";
import { preview } from "./preview.js";
import { grpcFrames, inflated, parseProtobuf } from "./protobuf.js";
import { counted, shown, size } from "./text.js";

/** The forms, as a select names them. */
export const forms = [["json", "JSON"], ["lines", "JSON lines"], ["form", "Form"],
  ["multipart", "Parts"], ["events", "Events"], ["grpc", "gRPC"], ["protobuf", "Protobuf"],
  ["image", "Image"], ["text", "Text"], ["page", "Text and preview"], ["hex", "Hex"]];

// By their first bytes; the type that a capture names is not believed.
const images = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]], ["image/bmp", [0x42, 0x4d]],
  ["image/x-icon", [0, 0, 1, 0]],
];

function imageType(bytes) {
  const word = (start) => String.fromCharCode(...bytes.subarray(start, start + 4));
  if (word(0) === "RIFF" && word(8) === "WEBP") return "image/webp";
  if (word(4) === "ftyp" && /^avi[fs]$/.test(word(8))) return "image/avif";
  return images.find(([, first]) => first.every((byte, i) => bytes[i] === byte))?.[0];
}

/** The form that fits best. */
export function formOf(bytes, type) {
  const name = type.split(";")[0].trim().toLowerCase();
  if (name.startsWith("application/grpc")) return "grpc";
  if (/protobuf|x-proto/.test(name)) return "protobuf";
  if (name.startsWith("multipart/")) return "multipart";
  if (name === "application/x-www-form-urlencoded") return "form";
  if (name === "text/event-stream") return "events";
  if (/ndjson|jsonl|json-seq|jsonlines/.test(name)) return "lines";
  if (/[/+]json$/.test(name)) return "json";
  const image = imageType(bytes);
  if (image !== undefined && (name.startsWith("image/") || image !== "image/bmp")) return "image";
  if (!isText(bytes)) {
    return name.startsWith("text/") && parameter(type, "charset") !== undefined ? "text" : "hex";
  }
  if (name.startsWith("text/") || /xml|javascript/.test(name)) return "text";
  return /^\s*[[{]/.test(decoded(bytes.subarray(0, 64))) ? "json" : "text";
}

/** The view of bytes. Where the form does not fit, a sentence says why and the text follows. */
export function bodyView(bytes, type, { form = formOf(bytes, type), charset, depth = 0 } = {}) {
  const code = charset ?? parameter(type, "charset") ?? mark(bytes);
  const text = () => decoded(bytes, code);
  const makers = {
    json: () => treeView(parseJSON(text())),
    lines: () => treeView(parseJSONLines(text().replaceAll("\u001e", ""))),
    form: () => formTable(text()),
    multipart: () => partList(multipart(bytes, type), depth),
    events: () => eventList(serverEvents(text())),
    grpc: () => frameList(grpcFrames(bytes)),
    protobuf: () => treeView(parseProtobuf(bytes), { label: "Protobuf" }),
    image: () => picture(bytes),
    text: () => textView(text()),
    page: () => el("div.beside", textView(text()), preview(text())),
    hex: () => hexView(bytes),
  };
  if (bytes.length === 0) return remark("The body is empty.");
  if (form === "multipart" && depth > 2) form = "text";
  try {
    return makers[form]();
  } catch (error) {
    const rest = isText(bytes) || code !== undefined ? textView(text()) : hexView(bytes);
    const name = forms.find(([key]) => key === form)?.[1] ?? form;
    return el("div", remark(`It can't be shown as ${name}: ${shown(error.message)}.`), rest);
  }
}

function mark(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

function formTable(text) {
  const { pairs, isCut } = formPairs(text);
  const rows = pairs.map(([name, value]) => el("tr", el("th", { scope: "row", text: shown(name) }),
    el("td.value", shown(value.slice(0, 20_000)))));
  return [el("table.fields", el("tbody", rows)), isCut && remark("More fields are not shown.")];
}

function partList(parts, depth) {
  return entries(parts, (part, i) => ({
    title: [`part ${i + 1}`, part.name === undefined ? "" : shown(part.name),
      part.file === undefined ? "" : `file “${shown(part.file)}”`, shown(part.type),
      size(part.bytes.length), part.isCut ? "cut" : ""],
    content: () => el("div", facts(part.fields.map(([name, value]) =>
      [shown(name), shown(value)])), bodyView(part.bytes, part.type, { depth: depth + 1 })),
    isOpen: parts.length <= 3,
  }));
}

function eventList(events) {
  if (events.length === 0) return remark("There is no event yet.");
  return el("div", el("p.told", counted(events.length, "event")), entries(
    events,
    (event, i) => ({
      title: [String(i + 1), shown(event.event || (event.data === undefined ? "comment"
        : "message")), event.id === "" ? "" : `id ${shown(event.id)}`,
      shown((event.data ?? event.comment).slice(0, 160)), event.isCut ? "not ended" : ""],
      content: () => structured(event.data ?? event.comment),
    }),
  ));
}

/** A text as a tree where it is JSON. */
export function structured(text) {
  if (/^\s*[[{]/.test(text)) {
    try {
      return treeView(parseJSON(text));
    } catch {
      // It only begins like JSON.
    }
  }
  return textView(text);
}

function frameList(frames) {
  if (frames.length === 0) return remark("There is no message.");
  return entries(frames, (frame, i) => ({
    title: [`message ${i + 1}`, size(frame.bytes.length), frame.isCompressed ? "compressed" : "",
      frame.isTrailer ? "trailers" : "", frame.isCut ? "cut" : ""],
    content: () => {
      if (frame.isTrailer) return textView(decoded(frame.bytes));
      if (!frame.isCompressed) return bodyView(frame.bytes, "", { form: "protobuf" });
      const place = el("div", remark("gzip is being undone…"));
      inflated(frame.bytes).then(
        (bytes) => fill(place, bodyView(bytes, "", { form: "protobuf" })),
        () => fill(place, remark("It is not compressed with gzip, or it is cut."),
          hexView(frame.bytes)),
      );
      return place;
    },
    isOpen: i === 0,
  }));
}

function picture(bytes) {
  const type = imageType(bytes);
  if (type === undefined) throw new Error("its first bytes are those of no image");
  const told = el("p.told", `${type}, ${size(bytes.length)}`);
  const image = el("img", {
    alt: "The image of the body",
    onload: () => {
      told.textContent += `, ${image.naturalWidth} × ${image.naturalHeight}`;
    },
    onerror: () => {
      told.textContent += "; the image is broken or cut";
    },
  });
  address(image, "src", new Blob([bytes], { type }));
  return el("div.picture", told, image);
}

export function copyBody(bytes, type) {
  return copyButton("Copy", () => decoded(bytes, parameter(type, "charset")));
}
