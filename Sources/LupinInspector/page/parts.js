// Decides how bodies that consist of parts come apart: forms, multipart, and server-sent events.

const partsMax = 200;
const pairsMax = 5_000;
const eventsMax = 20_000;

/** The names and values of a form (application/x-www-form-urlencoded). */
export function formPairs(text) {
  const all = text.split("&", pairsMax + 1);
  const pairs = all.slice(0, pairsMax).filter((pair) => pair !== "").map((pair) => {
    const sign = pair.indexOf("=");
    return sign < 0 ? [unescaped(pair), ""]
      : [unescaped(pair.slice(0, sign)), unescaped(pair.slice(sign + 1))];
  });
  return { pairs, isCut: all.length > pairsMax };
}

function unescaped(text) {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    // An escape is broken, or the bytes are no UTF-8: shown as it was sent.
    return text;
  }
}

/** A parameter of a media type, such as `boundary`. */
export function parameter(type, name) {
  const pattern = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:\\\\.|[^"\\\\])*)"|([^;\\s]+))`, "i");
  const found = pattern.exec(type);
  return found === null ? undefined : found[1]?.replace(/\\(.)/g, "$1") ?? found[2];
}

function indexOf(bytes, wanted, from) {
  const first = wanted[0];
  for (let i = bytes.indexOf(first, from); i >= 0; i = bytes.indexOf(first, i + 1)) {
    let count = 1;
    while (count < wanted.length && bytes[i + count] === wanted[count]) count += 1;
    if (count === wanted.length) return i;
  }
  return -1;
}

/** The parts of a multipart body: `{fields, name, file, type, bytes, isCut}`. */
export function multipart(bytes, type) {
  const boundary = parameter(type, "boundary");
  if (boundary === undefined || boundary.length > 200) throw new Error("it names no boundary");
  const encoder = new TextEncoder();
  const mark = encoder.encode(`--${boundary}`);
  const blank = encoder.encode("\r\n\r\n");
  const parts = [];
  let place = indexOf(bytes, mark, 0);
  if (place < 0) throw new Error("its boundary is not in it");
  while (place >= 0 && parts.length < partsMax) {
    const start = place + mark.length;
    if (bytes[start] === 0x2d && bytes[start + 1] === 0x2d) break;
    const next = indexOf(bytes, mark, start);
    const end = next < 0 ? bytes.length : next - 2;
    const split = indexOf(bytes, blank, start);
    const hasHead = split >= 0 && split <= end;
    const head = new TextDecoder().decode(bytes.subarray(start + 2, hasHead ? split : start + 2));
    parts.push(part(head.slice(0, 16_384), bytes.subarray(hasHead ? split + 4 : start + 2,
      Math.max(start + 2, end)), next < 0));
    place = next;
  }
  return parts;
}

function part(head, bytes, isCut) {
  const fields = head.split("\r\n").filter((line) => line !== "").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, Math.max(0, colon)), line.slice(colon + 1).trim()];
  });
  const value = (name) => fields.find((field) => field[0].toLowerCase() === name)?.[1] ?? "";
  const disposition = value("content-disposition");
  return {
    fields, bytes, isCut, type: value("content-type"),
    name: parameter(disposition, "name"), file: parameter(disposition, "filename"),
  };
}

/** The events of a stream (text/event-stream): `{event, id, data, retry}`. */
export function serverEvents(text) {
  const events = [];
  let now;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === "") {
      if (now !== undefined) events.push(now);
      now = undefined;
      if (events.length >= eventsMax) break;
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    now ??= { event: "", id: "", data: undefined, retry: "", comment: "" };
    if (name === "data") now.data = now.data === undefined ? value : `${now.data}\n${value}`;
    else if (name === "") now.comment += value;
    else if (name === "event" || name === "id" || name === "retry") now[name] = value;
  }
  if (now !== undefined) events.push({ ...now, isCut: true });
  return events;
}
