// Decides how JSON becomes a tree: numbers as written, names twice where they stand twice, bounded.

const depthMax = 200;
const nodesMax = 1_000_000;

/** An object or array: `names` is there for objects only. */
export class Branch {
  constructor(items, names) {
    this.items = items;
    this.names = names;
  }
}

/** A number that would lose digits, or any other word to show as it is. */
export class Word {
  constructor(text) {
    this.text = text;
  }
}

/** Parses JSON. Throws an error with a sentence and the place. */
export function parseJSON(text) {
  return new Parser(text).document();
}

/** Parses JSON, one value a line, as an array. */
export function parseJSONLines(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > nodesMax / 10) throw new Error("there are too many lines");
  return new Branch(lines.map((line) => parseJSON(line)));
}

class Parser {
  constructor(text) {
    this.text = text;
    this.place = 0;
    this.count = 0;
  }

  document() {
    this.#space();
    const value = this.#value(0);
    this.#space();
    if (this.place < this.text.length) this.#fail("there is more behind the value");
    return value;
  }

  #fail(problem) {
    throw new Error(`${problem}, at character ${this.place}`);
  }

  #space() {
    for (;;) {
      const code = this.text.charCodeAt(this.place);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.place += 1;
    }
  }

  #value(depth) {
    if (depth > depthMax) this.#fail(`it is nested deeper than ${depthMax}`);
    if ((this.count += 1) > nodesMax) this.#fail(`it has more than ${nodesMax} values`);
    const first = this.text[this.place];
    if (first === "{") return this.#branch("}", depth);
    if (first === "[") return this.#branch("]", depth);
    if (first === "\"") return this.#string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (!this.text.startsWith(word, this.place)) continue;
      this.place += word.length;
      return value;
    }
    return this.#number();
  }

  #branch(end, depth) {
    const items = [];
    const names = end === "}" ? [] : undefined;
    this.place += 1;
    this.#space();
    if (this.text[this.place] === end) {
      this.place += 1;
      return new Branch(items, names);
    }
    for (;;) {
      this.#space();
      if (names !== undefined) {
        if (this.text[this.place] !== "\"") this.#fail("a name is missing");
        names.push(this.#string());
        this.#space();
        if (this.text[this.place] !== ":") this.#fail("a colon is missing");
        this.place += 1;
        this.#space();
      }
      items.push(this.#value(depth + 1));
      this.#space();
      const next = this.text[this.place];
      if (next !== "," && next !== end) this.#fail(`a comma or ${end} is missing`);
      this.place += 1;
      if (next === end) return new Branch(items, names);
    }
  }

  #string() {
    const start = this.place;
    let end = start;
    let isPlain = true;
    for (;;) {
      end = this.text.indexOf("\"", end + 1);
      if (end < 0) this.#fail("a text has no end");
      let slashes = 0;
      while (this.text[end - 1 - slashes] === "\\") slashes += 1;
      if (slashes > 0) isPlain = false;
      if (slashes % 2 === 0) break;
    }
    const inner = this.text.slice(start + 1, end);
    this.place = end + 1;
    if (isPlain && !inner.includes("\\")) return inner;
    try {
      return JSON.parse(this.text.slice(start, end + 1));
    } catch {
      this.place = start;
      return this.#fail("a text has a wrong escape");
    }
  }

  #number() {
    const pattern = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
    pattern.lastIndex = this.place;
    const found = pattern.exec(this.text);
    if (found === null) return this.#fail("a value is missing");
    this.place += found[0].length;
    const number = Number(found[0]);
    return String(number) === found[0] ? number : new Word(found[0]);
  }
}

/** A tree of any value of JavaScript that came from `JSON.parse`. */
export function treeOf(value, depth = 0) {
  if (depth > depthMax) return new Word("…");
  if (Array.isArray(value)) return new Branch(value.map((item) => treeOf(item, depth + 1)));
  if (value instanceof Branch || value instanceof Word) return value;
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).filter((name) => value[name] !== undefined);
    return new Branch(names.map((name) => treeOf(value[name], depth + 1)), names);
  }
  return value;
}

/** The tree as indented text, for comparing and copying. */
export function pretty(value, indent = "") {
  if (value instanceof Word) return value.text;
  if (!(value instanceof Branch)) return JSON.stringify(value) ?? "null";
  const [open, close] = value.names === undefined ? ["[", "]"] : ["{", "}"];
  if (value.items.length === 0) return open + close;
  const inner = `${indent}  `;
  const lines = value.items.map((item, i) => {
    const name = value.names === undefined ? "" : `${JSON.stringify(value.names[i])}: `;
    return `${inner}${name}${pretty(item, inner)}`;
  });
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}
