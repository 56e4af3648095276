// Decides what the text of `lupin explain` says to a program: its sections, and the places of keys.

/** The sections of an explanation: `{title, lines}`; the first has no title. */
export function sectionsOf(text) {
  const sections = [{ title: "", lines: [] }];
  for (const line of text.split("\n").slice(0, 20_000)) {
    const isTitle = /^[a-z][a-z ]*$/.test(line);
    if (isTitle) sections.push({ title: line, lines: [] });
    else sections.at(-1).lines.push(line);
  }
  return sections;
}

export function section(text, title) {
  return sectionsOf(text).find((one) => one.title === title)?.lines ?? [];
}

/** The keys of the rules that matched: `{file, line, rule, key, text}`. */
export function keysOf(text) {
  const found = [];
  for (const line of section(text, "keys")) {
    const match = /^\s+(\S+):(\d+) (.*?)\s{2,}([a-z_.]+): ?(.*)$/.exec(line);
    if (match === null) continue;
    const [, file, number, rule, key, value] = match;
    found.push({ file, line: Number(number), rule, key, text: value });
  }
  return found;
}

/** Whether other rules hold now than did for the exchange. */
export function isOutdated(text) {
  return /other rules held then/.test(text);
}

const hop = "a field of the connection, which no proxy passes on (RFC 9110 §7.6.1)";

// What lupin changes without a rule, by the name of the field.
const own = {
  connection: hop, "keep-alive": hop, "proxy-connection": hop, te: hop, upgrade: hop,
  "transfer-encoding": hop,
  "proxy-authorization": "meant for lupin, not for the origin",
  via: "lupin names itself (RFC 9110 §7.6.3)",
  "lupin-id": "lupin names the exchange",
  "cache-status": "lupin's cache says what it did (RFC 9211)",
  "proxy-status": "lupin says what failed (RFC 9209)",
  age: "a cache says how old the response is",
  "content-length": "the length of the body that was sent on",
};

function namesField(step, name) {
  const [verb, ...rest] = step.split(" ");
  if (verb === "auth") return name === "authorization";
  if (verb === "compress") return name === "content-encoding" || name === "content-length";
  if (verb === "body" || verb === "json") {
    return ["content-length", "etag", "digest", "content-digest", "repr-digest",
      "accept-encoding", "content-encoding", "range"].includes(name);
  }
  if (verb === "url") return name === "host" || name === ":target";
  if (verb === "query") return name === ":target";
  const pattern = (rest[0] ?? "").toLowerCase();
  if (!pattern.includes("*")) return pattern === name;
  const parts = pattern.split("*");
  return name.startsWith(parts[0]) && name.endsWith(parts.at(-1));
}

function placesOf(step, side, keys) {
  const word = (step.split(" ")[1] ?? "").toLowerCase();
  const list = keys.filter((key) => key.key === side);
  const naming = list.filter((key) => key.text.toLowerCase().includes(word));
  return naming.length > 0 ? naming : list;
}

/**
 * Why a field differs: the steps that name it, with the places of their rules.
 * Returns `{text, places}`; `side` is `request` or `response`.
 */
export function causeOf(name, side, { record, keys }) {
  const lower = name.toLowerCase();
  const done = (Array.isArray(record?.rules?.steps) ? record.rules.steps : []).map(String);
  const naming = done.filter((step) => !step.includes("(dropped") && namesField(step, lower));
  if (naming.length > 0) {
    const places = naming.flatMap((step) => placesOf(step, side, keys));
    return { text: [...new Set(naming)].join("; "), places };
  }
  return { text: Object.hasOwn(own, lower) ? own[lower] : "", places: [] };
}
