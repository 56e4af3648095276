// Decides how a request is written as a command or program; hidden values become variables.

import { mask } from "./request.js";

const variable = (name) => name.toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^(\d)/, "_$1");

// Splits a value at what lupin hid.
function pieces(value) {
  const found = mask.exec(value);
  if (found === null) return [value];
  return [value.slice(0, found.index), undefined, value.slice(found.index + found[0].length)];
}

// One line of a comment can't become a second line of the program.
const comment = (text) => text.replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, " ");

const shell = (text) => (text === "" ? "" : `'${text.replaceAll("'", "'\\''")}'`);

function hiddenNames(request) {
  return request.fields.filter(([, value]) => mask.test(value)).map(([name]) => variable(name));
}

/** A command for any POSIX shell. */
export function asCurl(request) {
  const lines = [];
  const parts = ["curl"];
  const names = hiddenNames(request);
  if (request.bodyNote !== "") lines.push(`# ${comment(request.bodyNote)}; add: --data-binary @FILE`);
  if (names.length > 0) lines.push(`# set before: ${names.join(" ")}`);
  if (mask.test(request.url)) lines.push("# a value in the address is hidden");
  if (request.method === "HEAD") parts.push("--head");
  else if (request.method !== "GET" || request.body !== undefined) {
    parts.push(`-X ${shell(request.method)}`);
  }
  for (const [name, value] of request.fields) {
    const [before, , after] = pieces(value);
    const isHidden = mask.test(value);
    // curl leaves a field without value out unless it ends with a semicolon.
    const text = value === "" ? shell(`${name};`) : isHidden
      ? `${shell(`${name}: ${before}`)}"$${variable(name)}"${shell(after)}`
      : shell(`${name}: ${value}`);
    parts.push(`-H ${text}`);
  }
  if (request.body !== undefined) parts.push(`--data-binary ${shell(request.body) || "''"}`);
  // `--` is unknown to curl; --url takes an address that begins with a dash. -g keeps [] and {}.
  parts.push(`-g --url ${shell(request.url) || "''"}`);
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

function expression(name, value, literal, read) {
  if (!mask.test(value)) return literal(value);
  const [before, , after] = pieces(value);
  return [before && literal(before), read(variable(name)), after && literal(after)]
    .filter(Boolean).join(" + ");
}

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
  lines.push(`connection = http.client.${kind}(${python(url?.host ?? "localhost")})`);
  lines.push(request.body === undefined ? "body = b\"\"" : `body = ${python(request.body)}.encode()`);
  lines.push(`connection.putrequest(${python(request.method)}, ${python(target)}, `
    + "skip_accept_encoding=True)");
  for (const [name, value] of request.fields) {
    const text = expression(name, value, python, (variable) => `os.environ[${python(variable)}]`);
    lines.push(`connection.putheader(${python(name)}, ${text})`);
  }
  if (request.body !== undefined) lines.push("connection.putheader(\"Content-Length\", str(len(body)))");
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
  const fields = request.fields.map(([name, value]) => `        [${script(name)}, `
    + `${expression(name, value, script, (variable) => `process.env.${variable}`)}],`);
  lines.push(`const response = await fetch(${script(request.url)}, {`,
    `    method: ${script(request.method)},`, "    headers: [", ...fields, "    ],");
  if (request.body !== undefined) lines.push(`    body: ${script(request.body)},`);
  lines.push("    redirect: \"manual\",", "});",
    "console.log(response.status, await response.text());");
  return `${lines.join("\n")}\n`;
}
