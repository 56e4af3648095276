// Decides which rows a filter keeps where lupin can't be asked: archives, and exchanges under way.

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000,
  kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 };

// The keys of filters.md that a row can answer otherwise than by its member of that name.
const values = {
  host: (row) => row.host.replace(/:\d+$/, ""),
  url: (row) => `${row.scheme}://${row.host}${row.path}`,
  path: (row) => row.path.split("?")[0],
  port: (row) => Number(/:(\d+)$/.exec(row.host)?.[1] ?? (row.scheme === "http" ? 80 : 443)),
  rule: (row) => row.rules.split(", "),
  cache: (row) => row.cache.split(", "),
  age: (row) => Date.now() - row.at,
};
const members = ["scheme", "method", "status", "outcome", "error", "duration", "wait", "size", "sent",
  "attempts", "program", "mode", "type", "id"];

function number(text) {
  const found = /^(-?\d+(?:\.\d+)?)([a-z]*)$/i.exec(text);
  return found === null ? NaN : Number(found[1]) * (found[2] === "" ? 1 : units[found[2].toLowerCase()]);
}

function equality(key, text) {
  if (text === "*") return (value) => value !== undefined && value !== "";
  if (key === "status" && /^\dxx$/i.test(text)) return (value) => Math.floor(value / 100) === +text[0];
  if (key === "outcome" && text === "error") {
    return (value) => ["error", "aborted", "truncated"].includes(value);
  }
  const [low, high] = text.split("-").map(number);
  if (low <= high) return (value) => value >= low && value <= high;
  const parts = text.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`^${parts.join(".*")}${key === "id" ? "" : "$"}`, "is");
  return (value) => (typeof value === "number" ? value === low : pattern.test(value ?? ""));
}

function comparison(word) {
  const [, key, sign, text] = /^([a-z]+)(>=|<=|[:=~<>])(.*)$/s.exec(word) ?? ["", "url", "~", word];
  const read = values[key] ?? (members.includes(key) ? (row) => row[key] : undefined);
  if (read === undefined) throw new Error(`a file can't be filtered by "${key}"`);
  const limit = number(text);
  const lower = text.toLowerCase();
  const test = {
    ":": equality(key, text),
    "=": (value) => String(value ?? "") === text,
    "~": (value) => String(value ?? "").toLowerCase().includes(lower),
    ">": (value) => value > limit,
    "<": (value) => value < limit,
    ">=": (value) => value >= limit,
    "<=": (value) => value <= limit,
  }[sign];
  return (row) => [read(row)].flat().some(test);
}

const tokens = /[()]|(?:"(?:\\.|[^"\\])*"?|[^\s()"])+/gs;

/** The filter as lupin reads it: a plain word, such as `orders`, is one of the URL. */
export function spelled(text) {
  return text.replace(tokens, (word) =>
    (/^([()]|and|or|not|[a-z]+(>=|<=|[:=~<>]).*)$/s.test(word) ? word : `url~${word}`));
}

/** Compiles a filter to a function of a row. Throws an error with a sentence. */
export function localFilter(text) {
  const list = text.match(tokens) ?? [];
  let next = 0;
  function term(depth) {
    const word = list[next++];
    if (word === undefined || word === ")") throw new Error("a comparison is missing");
    if (depth > 50) throw new Error("it is nested too deep");
    if (word === "not") {
      const inner = term(depth + 1);
      return (row) => !inner(row);
    }
    if (word !== "(") return comparison(word.replace(/"((?:\\.|[^"\\])*)"?/gs, (_, inner) =>
      inner.replace(/\\(.)/gs, "$1")));
    const test = either(depth + 1);
    if (list[next++] !== ")") throw new Error("a parenthesis is not closed");
    return test;
  }
  function both(depth) {
    const tests = [term(depth)];
    while (next < list.length && list[next] !== "or" && list[next] !== ")") {
      if (list[next] === "and") next += 1;
      tests.push(term(depth));
    }
    return (row) => tests.every((test) => test(row));
  }
  function either(depth) {
    const tests = [both(depth)];
    while (list[next] === "or") {
      next += 1;
      tests.push(both(depth));
    }
    return (row) => tests.some((test) => test(row));
  }
  if (list.length === 0) return () => true;
  const test = either(0);
  if (next < list.length) throw new Error("a parenthesis is not opened");
  return test;
}
