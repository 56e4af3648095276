// Decides how the tab Cache tells what the cache did: in words, and as a bar of age and freshness.

import { el, facts, remark } from "./dom.js";
import { section } from "./explanation.js";
import { at, duration, shown, valuesOf } from "./text.js";

const seconds = (count) => duration(count * 1000);

const forwards = {
  bypass: "The cache was left out: the rules say so, or the request can't be answered from a store.",
  method: "The method can't be answered from a store.",
  "uri-miss": "Nothing was stored for this URL.",
  "vary-miss": "Responses were stored, for requests with other fields (Vary).",
  miss: "No stored response fitted.",
  request: "The client demanded that the origin be asked (its Cache-Control, or Pragma).",
  stale: "The stored response was stale, so the origin was asked.",
  partial: "Only a part was stored.",
};

// The reasons that `detail` names.
const details = {
  method: "only responses to GET are stored",
  "request-content": "the request had content, which is no part of the key",
  partial: "it is a part that can't be kept",
  "request-no-store": "the request said no-store",
  "no-store": "the origin said no-store",
  "must-understand": "the origin said must-understand, and the status is unknown",
  private: "the origin said private, and the cache is shared",
  authorization: "the request had credentials, and the origin does not let a shared cache keep it",
  "set-cookie": "the response sets a cookie, and the cache is shared",
  "vary-any": "the origin said Vary: *",
  "no-lifetime": "the status is not cacheable unless the origin gives a lifetime",
  useless: "it is stale already and can't be validated",
  incomplete: "the body broke off",
  "too-large": "the body is larger than max_object",
  "store-failed": "the store could not keep it",
  precondition: "the request has a condition that only the origin can judge",
  "no-vary-search": "parameters of the query that do not matter differ (No-Vary-Search)",
};

/** Lupin's member of Cache-Status as parameters. */
function cacheParameters(status) {
  const found = {};
  const pattern = /;\s*([a-z-]+)(?:=("(?:\\.|[^"\\])*"|[^;]*))?/g;
  for (const [, name, value] of String(status).matchAll(pattern)) {
    found[name] = value === undefined ? true
      : value.trim().replace(/^"(.*)"$/s, "$1").replace(/\\(.)/g, "$1");
  }
  return found;
}

function sentences(found) {
  const list = [];
  if (found.hit) list.push("The response came from the cache; no origin was asked.");
  if (found.fwd) list.push(at(forwards, found.fwd) ?? `The request went on: ${shown(found.fwd)}.`);
  if (found["fwd-status"] === "304") list.push("The origin confirmed the stored response with 304.");
  else if (found["fwd-status"]) list.push(`The origin answered ${shown(found["fwd-status"])}.`);
  if (found.collapsed) list.push("It waited for the same fetch of another request.");
  if (found.stored) list.push("The response was stored.");
  else if (found.fwd && found.detail) {
    list.push(`It was not stored: ${at(details, found.detail) ?? shown(found.detail)}.`);
  } else if (found.fwd) list.push("It was not stored.");
  else if (found.detail) list.push(`Detail: ${at(details, found.detail) ?? shown(found.detail)}.`);
  const ttl = Number(found.ttl);
  if (found.ttl !== undefined && Number.isFinite(ttl)) {
    list.push(ttl < 0 ? `It was stale for ${seconds(-ttl)}.` : `It stays fresh for ${seconds(ttl)}.`);
  }
  return list;
}

function directive(head, name) {
  const text = valuesOf(head, "cache-control").join(",");
  const found = new RegExp(`(?:^|[,\\s])${name}\\s*=\\s*"?(\\d+)`, "i").exec(text);
  return found === null ? undefined : Number(found[1]);
}

// Age and lifetime in seconds, and where the lifetime comes from.
function freshness(head, found) {
  const ageText = valuesOf(head, "age")[0];
  const age = /^\d+$/.test(ageText ?? "") ? Number(ageText) : found.hit ? undefined : 0;
  const ttl = found.ttl === undefined ? undefined : Number(found.ttl);
  if (Number.isFinite(ttl) && age !== undefined) {
    return { age, lifetime: Math.max(0, age + ttl), source: "Age and the time left" };
  }
  for (const name of ["s-maxage", "max-age"]) {
    const lifetime = directive(head, name);
    if (lifetime !== undefined) return { age: age ?? 0, lifetime, source: name };
  }
  const expires = Date.parse(valuesOf(head, "expires")[0]);
  const date = Date.parse(valuesOf(head, "date")[0]);
  if (Number.isNaN(expires) || Number.isNaN(date)) return undefined;
  return { age: age ?? 0, lifetime: Math.max(0, (expires - date) / 1000), source: "Expires" };
}

function bar({ age, lifetime, source }) {
  const scale = Math.max(age, lifetime, 1);
  const part = (kind, from, to, title) => {
    const node = el("i", { class: `fresh-${kind}`, title });
    node.style.left = `${(from / scale) * 100}%`;
    node.style.width = `${(Math.max(0, to - from) / scale) * 100}%`;
    return node;
  };
  const isStale = age >= lifetime;
  const told = isStale ? `stale since ${seconds(age - lifetime)}`
    : `fresh for another ${seconds(lifetime - age)}`;
  const text = `Age ${seconds(age)} of a lifetime of ${seconds(lifetime)} (${source}): ${told}.`;
  return el("figure.freshness",
    el("div.track", { role: "img", "aria-label": text },
      part("age", 0, Math.min(age, lifetime), "age"),
      part(isStale ? "stale" : "left", Math.min(age, lifetime), scale, told)),
    el("figcaption", { text }));
}

const named = ["cache-control", "lupin-cache-control", "age", "date", "expires", "etag",
  "last-modified", "vary", "no-vary-search", "cache-status", "pragma"];

/** The tab Cache. */
export async function cacheTab({ detail, source, id }) {
  const status = at(detail.record, "cache", "status");
  const head = detail.response ?? detail.received;
  const found = status === undefined ? {} : cacheParameters(status);
  const fresh = head === undefined ? undefined : freshness(head, found);
  let told = [];
  try {
    const text = await source.explain(id);
    told = [...section(text, "cache"),
      ...section(text, "record").filter((line) => /^\s+(cache:|.*stored)/.test(line))];
  } catch {
    // Without an explanation, Cache-Status and the fields say most of it.
  }
  const fields = (one) => (one === undefined ? [] : named.flatMap((name) =>
    valuesOf(one, name).map((value) => [name, shown(value)])));
  const asked = fields(detail.request).filter(([name]) => name === "cache-control" || name === "pragma");
  return el("div", status === undefined ? remark("No rule caches this exchange.")
      : [el("ul.words", sentences(found).map((text) => el("li", { text }))),
        el("p.mono.told", `Cache-Status: ${shown(status)}`)],
    fresh && bar(fresh),
    asked.length > 0 && [el("h3", "Of the request"), facts(asked)],
    [el("h3", "Of the response"), fields(head).length > 0 ? facts(fields(head))
      : remark("The response has no field that a cache reads.")],
    told.length > 0 && [el("h3", "lupin explains"), el("pre.mono.explain",
      told.map((line) => shown(line).replace(/^ {2}/, "")).join("\n"))],
  );
}
