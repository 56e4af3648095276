// Decides how the page asks lupin: the token, the addresses of `/v1/`, and what a failure says.

import { at } from "./text.js";

const key = "lupin.token";

/** A refusal of lupin, or no answer at all. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Whether the page has a token; without one, only archives from files can be opened. */
export function hasToken() {
  return sessionStorage.getItem(key) !== null;
}

/**
 * Takes the code out of the address, so that it is in no history, and makes it a token.
 * Returns the other words of the address.
 */
export async function beginSession() {
  const words = new URLSearchParams(location.hash.slice(1));
  const code = words.get("code");
  if (code === null) return words;
  words.delete("code");
  const rest = new URLSearchParams(words);
  rest.delete("hold");
  history.replaceState(null, "", location.pathname + (rest.size > 0 ? `#${rest}` : ""));
  const response = await fetch("/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) sessionStorage.setItem(key, String(answer.token));
  else if (!hasToken()) throw new Refusal(response.status, answer.error ?? "the code was refused");
  return words;
}

async function ask(path, { method = "GET", query = {}, body, signal } = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") words.set(name, value);
  }
  const tail = words.size > 0 ? `?${words}` : "";
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(key) ?? ""}` };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(`/v1/${path}${tail}`, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "lupin does not answer; is it still running?");
  }
  if (response.ok) return response;
  const text = await response.text();
  let answer = {};
  try {
    answer = JSON.parse(text);
  } catch {
    // A failure without JSON is told by its text below.
  }
  const errors = Array.isArray(at(answer, "errors")) ? answer.errors.map(String) : [];
  const told = at(answer, "error") ?? (errors.length > 0 ? errors.join("\n") : text.slice(0, 500));
  const message = response.status === 401
    ? "lupin does not know this page any more; run `lupin inspect` for a new address" : told;
  throw new Refusal(response.status, String(message || `lupin answered ${response.status}`));
}

async function json(path, options) {
  const response = await ask(path, options);
  return response.status === 204 ? {} : response.json();
}

const one = (id, tail = "") => `exchanges/${encodeURIComponent(id)}${tail}`;

/** Parses JSON lines; a line that is broken is left out. */
function lines(text) {
  const records = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      records.push(JSON.parse(line));
    } catch {
      // The line was cut; the next poll has it.
    }
  }
  return records;
}

export const api = {
  /** Records that ended after the one called `after`, the oldest first, and the last ID. */
  async latest({ filter, after, limit }, signal) {
    const query = { format: "lines", filter, after, limit };
    const response = await ask("exchanges", { query, signal });
    const text = await response.text();
    return { records: lines(text), last: response.headers.get("Lupin-Last") ?? after };
  },
  /** Records that ended before the one called `before`, the latest first. */
  async older({ filter, before, limit }, signal) {
    const answer = await json("exchanges", { query: { filter, before, limit }, signal });
    return answer.exchanges ?? [];
  },
  live: (signal) => json("exchanges/live", { signal }).then((answer) => answer.exchanges ?? []),
  detail: (id, signal) => json(one(id), { signal }),
  async body(id, side, signal) {
    const response = await ask(one(id, `/bodies/${side}`), { signal });
    return new Uint8Array(await response.arrayBuffer());
  },
  messages: (id, after, limit) => json(one(id, "/messages"), { query: { after, limit } })
    .then((answer) => answer.messages ?? []),
  explain: (id) => ask(one(id, "/explain")).then((response) => response.text()),
  note: (id, note) => json(one(id, "/note"), { method: "PUT", body: note }),
  cut: (id) => json(one(id), { method: "DELETE" }),
  send: (request) => json("send", { method: "POST", body: request }),
  preview: (snippet) => json("rules/preview", { method: "POST", body: { snippet } }),
  append: (snippet, digest) =>
    json("rules/append", { method: "POST", body: { snippet, digest } }),
  rules: () => json("rules/list"),
  capture: () => json("capture"),
  setCapture: (hosts) => json("capture", { method: "PUT", body: { hosts } }),
  hold: (name, hosts) => json(`capture/holds/${name}`, { method: "PUT", body: { hosts } }),
  release: (name) => json(`capture/holds/${name}`, { method: "DELETE" }),
  /** Deletes captures: of one exchange, of those that a filter keeps, or with neither of all. */
  uncapture: ({ id, filter }) => (id === undefined
    ? json("capture", { method: "DELETE", query: { filter } })
    : json(one(id, "/capture"), { method: "DELETE" })),
  status: () => json("status"),
  har: (filter, limit) => ask("har", { query: { filter, limit } })
    .then((response) => response.blob()),
  archive: (number) => json(`archives/${encodeURIComponent(number)}`),
};
