// Decides what a HAR 1.2 file means as exchanges: read-only, with every member doubted.

import { fromBase64 } from "./messages.js";
import { rowOf, rowsMax } from "./rows.js";
import { at, listOf } from "./text.js";

const known = ["cache-control", "content-type"];

const number = (value) => (Number.isFinite(value) && value >= 0 ? value : undefined);

/** The exchanges of a file; the same calls as lupin's own, but for those that change something. */
export class Archive {
  /** Throws a sentence where the file is no HAR. */
  constructor(value, name) {
    const entries = at(value, "log", "entries");
    if (!Array.isArray(entries)) throw new Error("the file is no HAR: it has no log.entries");
    this.isReadOnly = true;
    this.name = name;
    this.entries = new Map();
    this.rows = [];
    for (const entry of entries.slice(0, rowsMax)) this.#add(entry);
  }

  #add(entry) {
    if (entry === null || typeof entry !== "object") return;
    let id = typeof entry._id === "string" && entry._id !== "" ? entry._id.slice(0, 64)
      : `entry-${this.rows.length + 1}`;
    if (this.entries.has(id)) id = `${id}-${this.rows.length + 1}`;
    this.entries.set(id, entry);
    this.rows.push(rowOf(recordOf(entry, id)));
  }

  async detail(id) {
    const entry = this.entries.get(id);
    if (entry === undefined) throw new Error("the file has no such exchange");
    const record = recordOf(entry, id);
    const [request, response] = [at(entry, "request"), at(entry, "response")];
    const bodies = bodiesOf(entry).map(({ side, type, wire, bytes }) => {
      const kept = bytes().length;
      return { side, type, kept, bytes: wire ?? kept };
    });
    return {
      record,
      request: { method: at(request, "method"), target: at(record, "url", "full"),
        fields: fieldsOf(request) },
      ...(at(response, "status") > 0
        ? { response: { status: response.status, fields: fieldsOf(response) } } : {}),
      ...(bodies.length > 0 ? { bodies } : {}),
      ...(typeof entry.comment === "string" && entry.comment !== ""
        ? { note: { marked: false, comment: entry.comment } } : {}),
    };
  }

  async body(id, side) {
    const found = bodiesOf(this.entries.get(id)).find((body) => body.side === side);
    return found === undefined ? new Uint8Array() : found.bytes();
  }

  async explain() {
    throw new Error("A file has no explanation: the rules of its time are not known.");
  }
}

function fieldsOf(head) {
  return listOf(at(head, "headers")).slice(0, 2000).map((field) =>
    [String(at(field, "name") ?? ""), String(at(field, "value") ?? "")]);
}

function bodiesOf(entry) {
  const bodies = [];
  const post = at(entry, "request", "postData");
  const text = at(post, "text");
  const add = (side, type, words, encoding, size) => bodies.push({
    side, type: typeof type === "string" ? type : "", wire: number(size), bytes: () =>
      (encoding === "base64" ? fromBase64(words) : new TextEncoder().encode(words)),
  });
  if (typeof text === "string" && text !== "") {
    add("request", at(post, "mimeType"), text, at(post, "encoding"), at(entry, "request", "bodySize"));
  }
  const content = at(entry, "response", "content");
  if (typeof at(content, "text") === "string" && content.text !== "") {
    add("response", content.mimeType, content.text, content.encoding,
      at(entry, "response", "bodySize"));
  }
  return bodies;
}

function urlOf(text) {
  try {
    const url = new URL(text);
    const scheme = url.protocol.replace(":", "");
    // The target of a CONNECT reads like a scheme: `example.com:443`.
    if (!/^(https?|wss?)$/.test(scheme)) throw new Error("no address of the web");
    return { full: text, scheme, domain: url.hostname, path: url.pathname,
      port: Number(url.port) || (scheme === "http" || scheme === "ws" ? 80 : 443) };
  } catch {
    const found = /^([^/?#:]+):(\d+)$/.exec(text);
    return found === null ? { full: text, domain: "", path: "" }
      : { domain: found[1], port: Number(found[2]) };
  }
}

function timingOf(entry) {
  const timings = at(entry, "timings") ?? {};
  const tls = number(timings.ssl);
  const connect = number(timings.connect);
  const timing = { blocked: number(timings.blocked), dns: number(timings.dns),
    // HAR counts TLS as a part of connecting.
    tcp: connect === undefined ? undefined : Math.max(0, connect - (tls ?? 0)), tls,
    send: number(timings.send), wait: number(timings.wait), receive: number(timings.receive) };
  return Object.fromEntries(Object.entries({ ...timing, total: number(at(entry, "time")) })
    .filter(([, value]) => value !== undefined));
}

/** The record that lupin would have written, as far as the file says. */
function recordOf(entry, id) {
  const request = at(entry, "request") ?? {};
  const response = at(entry, "response") ?? {};
  const status = Number.isInteger(response.status) && response.status > 0 ? response.status : undefined;
  const error = at(entry, "_error") ?? at(response, "_error");
  const timing = timingOf(entry);
  const values = Object.fromEntries(fieldsOf(response).filter(([name]) =>
    known.includes(name.toLowerCase())).map(([name, value]) => [name.toLowerCase(), [value]]));
  const program = at(entry, "_program");
  const cache = at(entry, "_cache");
  const mime = at(response, "content", "mimeType");
  return {
    ts: String(at(entry, "startedDateTime") ?? ""), event: "exchange", id,
    outcome: String(at(entry, "_outcome") ?? (status === undefined ? "error" : "ok")),
    ...(typeof program === "string" ? { client: { program } } : {}),
    http: {
      request: { method: String(request.method ?? ""),
        body: { size: number(request.bodySize) ?? 0 } },
      response: { status_code: status, header: values,
        body: { size: number(response.bodySize) ?? number(at(response, "content", "size")) } },
    },
    type: typeof mime === "string" && mime !== "" ? mime : undefined,
    url: urlOf(String(request.url ?? "")),
    ...(Array.isArray(at(entry, "_rules")) ? { rules: { matched: entry._rules } } : {}),
    ...(typeof cache === "string" ? { cache: { status: cache } } : {}),
    ...(typeof error === "string" && error !== "" ? { error: { type: error,
      detail: String(at(entry, "_detail") ?? "") } } : {}),
    attempts: attemptsOf(entry, status, timing),
    timing,
  };
}

function attemptsOf(entry, status, timing) {
  const { total, ...stages } = timing;
  const peer = at(entry, "serverIPAddress");
  const one = { n: 1, why: "first", status, timing: stages,
    ...(typeof peer === "string" && peer !== "" ? { peer } : {}) };
  // A file has the times of one attempt, whatever their number was.
  return status === undefined && total === undefined ? [] : [one];
}
