// Decides how a request is written as a command or program; hidden values become variables.

import { mask } from "./request.js";

const everyMask = new RegExp(mask, "g");

// The variables of one command, which stand for what lupin hid; equal marks share one.
class Variables {
  #byMark = new Map();

  get names() {
    return [...this.#byMark.values()];
  }

  // The text and variables `{name}` of a value, in order; `nameAfter` names what follows a text.
  parts(value, nameAfter) {
    const parts = [];
    let end = 0;
    for (const found of value.matchAll(everyMask)) {
      if (found.index > end) parts.push(value.slice(end, found.index));
      parts.push({ name: this.#name(nameAfter(value.slice(0, found.index)), found[0]) });
      end = found.index + found[0].length;
    }
    if (end < value.length || parts.length === 0) parts.push(value.slice(end));
    return parts;
  }

  #name(word, mark) {
    const base = word.toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^(\d|$)/, "_$1");
    const key = `${base} ${mark}`;
    const known = this.#byMark.get(key);
    if (known !== undefined) return known;
    const taken = new Set(this.names);
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
    this.#byMark.set(key, name);
    return name;
  }
}

// The parameter whose value follows in an address.
const parameter = (before) => /(?:^|[?&;#])([^?&;#=]*)=$/.exec(before)?.[1] || "secret";

// The name before a colon or an equals sign, as in JSON and forms.
const member = (before) => /([\w-]+)["']?\s*[:=]\s*["']?$/.exec(before)?.[1] ?? "body";

// All that is sent, with variables: the address, the fields, the body.
function written(request) {
  const variables = new Variables();
  return {
    fields: request.fields.map(([name, value]) => [name, variables.parts(value, () => name)]),
    body: request.body === undefined ? undefined : variables.parts(request.body, member),
    url: (url) => variables.parts(url, parameter),
    variables,
  };
}

// One line of a comment can't become a second line of the program.
const comment = (text) => text.replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, " ");

const shell = (text) => (text === "" ? "" : `'${text.replaceAll("'", "'\\''")}'`);

// One word of a shell; `before` is the plain text ahead of its parts.
function word(parts, before = "") {
  const [first, ...rest] = parts;
  const all = typeof first === "string" ? [before + first, ...rest] : [before, ...parts];
  return all.map((part) => typeof part === "string" ? shell(part) : `"$${part.name}"`).join("")
    || "''";
}

/** A command for any POSIX shell. */
export function asCurl(request) {
  const lines = [];
  const parts = ["curl"];
  const { fields, body, url, variables } = written(request);
  if (request.bodyNote !== "") lines.push(`# ${comment(request.bodyNote)}; add: --data-binary @FILE`);
  if (request.method === "HEAD") parts.push("--head");
  else if (request.method !== "GET" || body !== undefined) {
    parts.push(`-X ${shell(request.method)}`);
  }
  for (const [name, value] of fields) {
    // curl leaves a field without value out unless it ends with a semicolon.
    const isEmpty = value.join("") === "";
    parts.push(`-H ${word(value, isEmpty ? `${name};` : `${name}: `)}`);
  }
  if (body !== undefined) parts.push(`--data-binary ${word(body)}`);
  // `--` is unknown to curl; --url takes an address that begins with a dash. -g keeps [] and {}.
  parts.push(`-g --url ${word(url(request.url))}`);
  if (variables.names.length > 0) lines.push(`# set before: ${variables.names.join(" ")}`);
  return [...lines, parts.join(" \\\n  ")].join("\n");
}

// A literal of Python: JSON's escapes, but for characters beyond U+FFFF.
function python(text) {
  const inner = [...text].map((letter) => {
    const code = letter.codePointAt(0);
    if (letter === "\"" || letter === "\\") return `\\${letter}`;
    if (letter === "\n") return "\\n";
    if (code >= 32 && code < 127) return letter;
    if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 65_536 ? `\\u${code.toString(16).padStart(4, "0")}`
      : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `"${inner.join("")}"`;
}

const expression = (parts, literal, read) => parts.map((part) => typeof part === "string"
  ? literal(part) : read(part.name)).join(" + ");

function parsed(url) {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** A program for Python 3 without any library; repeated fields stay repeated. */
export function asPython(request) {
  const url = parsed(request.url);
  const isSecure = url?.protocol !== "http:";
  const lines = ["import http.client", "import os", ""];
  if (request.bodyNote !== "") lines.push(`# ${comment(request.bodyNote)}`);
  const kind = isSecure ? "HTTPSConnection" : "HTTPConnection";
  const target = url === undefined ? "/" : url.pathname + url.search;
  const sent = written(request);
  const text = (parts) => expression(parts, python, (name) => `os.environ[${python(name)}]`);
  lines.push(`connection = http.client.${kind}(${python(url?.host ?? "localhost")})`);
  lines.push(sent.body === undefined ? "body = b\"\"" : `body = (${text(sent.body)}).encode()`);
  lines.push(`connection.putrequest(${python(request.method)}, ${text(sent.url(target))}, `
    + "skip_accept_encoding=True)");
  for (const [name, value] of sent.fields) {
    lines.push(`connection.putheader(${python(name)}, ${text(value)})`);
  }
  if (sent.body !== undefined) lines.push("connection.putheader(\"Content-Length\", str(len(body)))");
  lines.push("connection.endheaders(body)", "response = connection.getresponse()",
    "print(response.status, response.reason)", "print(response.read().decode(errors=\"replace\"))");
  return `${lines.join("\n")}\n`;
}

// U+2028 and U+2029 are line ends to older programs.
const script = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) =>
  `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A module for Node 18 and later. */
export function asNode(request) {
  const lines = [];
  if (request.bodyNote !== "") lines.push(`// ${comment(request.bodyNote)}`);
  const sent = written(request);
  const text = (parts) => expression(parts, script, (name) => `process.env.${name}`);
  const fields = sent.fields.map(([name, value]) => `        [${script(name)}, ${text(value)}],`);
  lines.push(`const response = await fetch(${text(sent.url(request.url))}, {`,
    `    method: ${script(request.method)},`, "    headers: [", ...fields, "    ],");
  if (sent.body !== undefined) lines.push(`    body: ${text(sent.body)},`);
  lines.push("    redirect: \"manual\",", "});",
    "console.log(response.status, await response.text());");
  return `${lines.join("\n")}\n`;
}
