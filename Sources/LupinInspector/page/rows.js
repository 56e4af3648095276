// Decides what the list remembers of each exchange: a small object, at most 100,000 of them.

import { at, listOf } from "./text.js";

export const rowsMax = 100_000;
// Dropping the oldest moves all others, so it is done for many at once.
const slack = 2_000;

const pool = new Map();

// Hosts, methods and rules repeat; one copy of each text is kept.
function shared(text) {
  if (typeof text !== "string") return "";
  const found = pool.get(text);
  if (found !== undefined) return found;
  if (pool.size > 20_000) pool.clear();
  pool.set(text, text);
  return text;
}

const texts = (list) => listOf(list).filter((item) => typeof item === "string");

/** What `cache.status` says, in a word. */
function cacheWord(status) {
  if (typeof status !== "string") return "";
  const parts = status.split(";").map((part) => part.trim());
  if (parts.includes("hit")) {
    const ttl = parts.find((part) => part.startsWith("ttl="));
    return ttl?.startsWith("ttl=-") ? "stale hit" : "hit";
  }
  const forward = parts.find((part) => part.startsWith("fwd="))?.slice(4) ?? "";
  const word = forward === "uri-miss" || forward === "vary-miss" ? "miss" : forward;
  return parts.includes("stored") ? `${word}, stored` : word;
}

function typeOf(record) {
  const named = at(record, "http", "response", "header", "content-type");
  const value = record.type ?? (Array.isArray(named) ? named[0] : named);
  if (typeof value === "string") return shared(value.split(";")[0].trim().toLowerCase());
  return record.mode === "tunnel" || record.mode === "upgrade" ? record.mode : "";
}

function pathOf(record) {
  const full = at(record, "url", "full");
  if (typeof full !== "string" || full === "") return at(record, "url", "path") ?? "";
  const start = full.indexOf("/", full.indexOf("//") + 2);
  return start < 0 ? "/" : full.slice(start);
}

/** The row of a record. */
export function rowOf(record) {
  const request = at(record, "http", "request") ?? {};
  const attempts = listOf(record.attempts);
  const status = at(record, "http", "response", "status_code");
  const host = at(record, "url", "domain") ?? "";
  const port = at(record, "url", "port");
  const usual = at(record, "url", "scheme") === "http" ? 80 : 443;
  const isTunnel = record.event === "tunnel" || record.mode === "tunnel";
  const outcome = shared(record.outcome);
  const repeats = attempts.filter((one) => at(one, "why") === "retry").length;
  return {
    id: String(record.id ?? ""),
    at: Date.parse(record.ts) || 0,
    method: shared(request.method === "_OTHER" ? request.method_original : request.method)
      || (isTunnel ? "CONNECT" : ""),
    status,
    outcome,
    host: shared(port === undefined || port === usual ? String(host) : `${host}:${port}`),
    scheme: shared(at(record, "url", "scheme")),
    path: pathOf(record),
    duration: at(record, "timing", "total"),
    wait: at(record, "timing", "wait"),
    size: at(record, "http", "response", "body", "size") ?? at(record, "tunnel", "received"),
    sent: at(record, "http", "request", "body", "size") ?? at(record, "tunnel", "sent"),
    rules: shared(texts(at(record, "rules", "matched")).join(", ")),
    cache: shared(cacheWord(at(record, "cache", "status"))),
    program: shared(at(record, "client", "program")),
    attempts: attempts.length,
    saved: repeats > 0 && outcome === "ok" && !(status >= 500),
    type: typeOf(record),
    error: shared(at(record, "error", "type")),
    mode: shared(record.mode),
    mark: at(record, "note", "marked") === true,
    live: false,
  };
}

/** The row of an exchange under way. */
export function liveRowOf(live) {
  const full = String(live.url ?? "");
  const row = rowOf({ ...live, attempts: [], http: { request: { method: live.method } },
    url: { full, domain: live.host, scheme: full.split(":")[0] } });
  return Object.assign(row, {
    at: row.at || Date.now() - live.elapsed, outcome: "live", duration: live.elapsed,
    size: at(live, "bytes", "client_out"), sent: at(live, "bytes", "client_in"),
    attempts: Number(live.attempts) || 0, live: true,
    type: `waits for ${String(live.waits_for ?? "").replaceAll("_", " ")}`,
  });
}

/** The rows of the list, in the order in which the exchanges ended. */
export class Rows {
  constructor() {
    this.clear();
  }

  clear() {
    this.all = [];
    this.known = new Map();
    this.dropped = 0;
    this.version = 0;
  }

  get oldest() {
    return this.all[0];
  }

  find(id) {
    return this.known.get(id);
  }

  /** Adds what ended since; returns how many are new. */
  push(rows) {
    const fresh = this.#unknown(rows);
    for (const row of fresh) this.all.push(row);
    const extra = this.all.length - rowsMax;
    if (extra > slack) {
      for (const row of this.all.splice(0, extra)) this.known.delete(row.id);
      this.dropped += extra;
    }
    if (fresh.length > 0) this.version += 1;
    return fresh.length;
  }

  /** Adds older ones, the latest first; returns how many are new. */
  unshift(rows) {
    const room = Math.max(0, rowsMax - this.all.length);
    const fresh = this.#unknown(rows.slice(0, room));
    if (fresh.length > 0) {
      this.all = fresh.reverse().concat(this.all);
      this.version += 1;
    }
    return fresh.length;
  }

  #unknown(rows) {
    return rows.filter((row) => {
      if (row.id === "" || this.known.has(row.id)) return false;
      this.known.set(row.id, row);
      return true;
    });
  }
}
