// Decides how a rule is made of an exchange: snippet, preview by lupin, then the append.

import { api } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, choice, el, fill, labelled, remark } from "./dom.js";
import { attempt, notify } from "./notice.js";
import { at, listOf, shown } from "./text.js";
import { pinRule, pinsOf } from "./trust.js";
import { exactPath, quoted, stepValue } from "./yaml.js";

const scopes = [["path", "this path"], ["host", "the whole host"], ["method", "this method and path"]];

function partsOf(context) {
  const record = context.detail.record ?? {};
  const path = at(record, "url", "path");
  return {
    host: String(at(record, "url", "domain") ?? ""),
    // A tunnel has no path; one that lupin hid a part of can't be matched by it.
    path: typeof path === "string" && !/REDACTED|…\+\d/.test(path) ? path : undefined,
    method: String(at(record, "http", "request", "method") ?? "GET"),
    pins: pinsOf(record.trust).map(([pin]) => pin),
  };
}

function match({ host, path, method }, scope) {
  const parts = [`host: ${quoted(host)}`];
  if (scope !== "host" && path !== undefined) parts.push(`path: ${exactPath(path)}`);
  if (scope === "method") parts.push(`method: ${quoted(method)}`);
  return `{${parts.join(", ")}}`;
}

// What each kind of rule says below its match.
const kinds = [
  ["set", "set a request field", () => `  request:\n    - set: {X-Env: ${stepValue("dev")}}\n`],
  ["redirect", "send it to another host",
    () => "  request:\n    - url: {scheme: http, host: localhost, port: 3000}\n"],
  ["block", "block it", () => "  respond: {status: 403}\n"],
  ["cache", "cache the responses", () => "  cache: standard\n"],
  ["retry", "retry what fails", () => "  retry: standard\n"],
  ["pin", "pin the keys", () => ""],
  ["capture", "capture the bodies", () => "  capture: true\n"],
];

/** The snippet of a kind, for the exchange. */
function snippetOf(kind, parts, scope) {
  if (kind === "pin") {
    const pins = parts.pins.length > 0 ? parts.pins
      : ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="];
    return pinRule(parts.host, pins);
  }
  const [, title, make] = kinds.find(([key]) => key === kind);
  const place = scope === "host" || parts.path === undefined ? parts.host : parts.host + parts.path;
  // Names are unique in the file; the time tells two rules of one exchange apart.
  const stamp = new Date().toISOString().slice(5, 19).replace("T", " ");
  const name = `${title} ${place.slice(0, 80)} ${stamp}`;
  return `- name: ${quoted(name)}\n  match: ${match(parts, scope)}\n${make(parts)}`;
}

/** Opens the form. `onappended` is called when the rule stands in the file. */
export function openRuleForm(context, onappended, first = "set") {
  const parts = partsOf(context);
  if (parts.host === "") {
    notify("The exchange has no host that a rule could match.", true);
    return;
  }
  const kind = choice(kinds.map(([key, title]) => [key, title]), write, { "aria-label": "Rule" });
  const scope = choice(scopes, write, { "aria-label": "For" });
  const area = el("textarea.mono", { rows: "9", spellcheck: "false", oninput: changed });
  const result = el("div.preview", { "aria-live": "polite" });
  const look = button("Preview", preview, { class: "primary" });
  const append = button("Append to the file", send, { disabled: true });
  let shownPreview;
  kind.value = first;
  function write() {
    area.value = snippetOf(kind.value, parts, scope.value);
    changed();
  }
  // Only what was seen in the preview is appended.
  function changed() {
    shownPreview = undefined;
    append.disabled = true;
    fill(result, remark("Preview the rule to see its place in the file, and what lupin finds wrong."));
  }
  async function preview() {
    const snippet = area.value;
    const found = await attempt(() => api.preview(snippet));
    if (found === undefined || snippet !== area.value) return;
    const errors = listOf(found.errors);
    shownPreview = { snippet, digest: found.digest };
    append.disabled = errors.length > 0;
    fill(result, previewed(found));
    if (errors.length === 0) append.focus();
  }
  async function send() {
    if (shownPreview === undefined) return;
    append.disabled = true;
    try {
      const done = await api.append(shownPreview.snippet, shownPreview.digest);
      dialog.close();
      const warnings = listOf(done.warnings).map(String);
      notify(["The rule holds from now on.", ...warnings].join("\n"), warnings.length > 0);
      onappended();
    } catch (error) {
      const text = error.status === 409
        ? "The file changed since the preview. Preview again." : error.message;
      changed();
      fill(result, el("pre.loss.mono", shownLinesOf(text)));
    }
  }
  const dialog = openDialog("Make a rule of this", el("div.ruleform",
    el("div.pair", labelled("Rule", kind), labelled("For", scope)),
    labelled("Rule, in YAML", area), result), { actions: [look, append], isWide: true });
  write();
  area.focus();
}

const shownLinesOf = (text) => String(text).split("\n").map(shown).join("\n");

function previewed(found) {
  const errors = listOf(found.errors);
  const warnings = listOf(found.warnings);
  const lines = [];
  const before = listOf(found.before);
  let number = (Number(found.line) || 1) - before.length;
  const put = (kind, sign, text) => {
    lines.push(el("div", { class: kind }, el("span.number", String(number)),
      el("span.sign", sign), shown(text)));
    number += 1;
  };
  for (const line of before) put("same", " ", line);
  for (const line of listOf(found.added)) put("added", "+", line);
  for (const line of listOf(found.after)) put("same", " ", line);
  return [
    el("p.told.mono", `${shown(found.file)}, line ${shown(found.line)}`),
    el("div.rulediff.mono", lines),
    errors.map((text) => el("pre.loss.mono", shownLinesOf(text))),
    warnings.map((text) => el("pre.warning.mono", shownLinesOf(text))),
    errors.length === 0 && remark("lupin accepts the rule. It acts as soon as it is appended."),
  ];
}
