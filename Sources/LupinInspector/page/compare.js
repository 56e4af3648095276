// Decides how two exchanges are compared: heads by field, bodies by line, side by side.

import { formOf } from "./bodyview.js";
import { fieldChanges, folded, lineChanges } from "./diff.js";
import { openDialog } from "./dialog.js";
import { el, remark } from "./dom.js";
import { parseJSON, pretty } from "./json.js";
import { attempt } from "./notice.js";
import { decoded, isText } from "./plainviews.js";
import { typeOf } from "./body.js";
import { counted, day, listOf, shown, shownLines, size } from "./text.js";

const bodyMax = 1024 * 1024;
const lineMax = 2000;
const rowsMax = 3000;

/** Opens the comparison; `a` and `b` are `{source, id}`. */
export async function openComparison(a, b) {
  const details = await attempt(() => Promise.all([a, b].map((one) => one.source.detail(one.id))));
  if (details === undefined) return;
  const [left, right] = details;
  const content = el("div.comparison", twoHeads(left, right),
    heads("Request", left.request, right.request, "request"),
    await bodies("Request body", a, b, left, right, ["request"]),
    heads("Response", left.response, right.response, "response"),
    await bodies("Response body", a, b, left, right, ["response", "received"]),
  );
  openDialog("Compare two exchanges", content, { isWide: true });
}

function twoHeads(left, right) {
  return el("div.sides", [left, right].map((detail) => {
    const record = detail.record ?? detail.live ?? {};
    return el("div", el("strong", shown(record.id).slice(0, 8)), ` ${day(Date.parse(record.ts))}`,
      el("div.mono", shown(String(record.url?.full ?? record.url?.domain ?? "").slice(0, 500))));
  }));
}

function startLine(head, side) {
  if (head === undefined) return undefined;
  return side === "request" ? `${head.method} ${head.target}` : `status ${head.status}`;
}

function heads(title, left, right, side) {
  const changes = fieldChanges(listOf(left?.fields), listOf(right?.fields));
  const [first, second] = [startLine(left, side), startLine(right, side)];
  const start = { kind: first === second ? "same" : first === undefined ? "added"
    : second === undefined ? "removed" : "changed", before: first, after: second };
  const count = changes.filter((change) => change.kind !== "same").length;
  const text = (change, value) => (value === undefined ? undefined
    : change.name === undefined ? value : `${change.name}: ${value}`);
  const rows = [start, ...changes].map((change) => ({ kind: change.kind,
    before: text(change, change.before), after: text(change, change.after) }));
  return el("section", el("h3", title), el("p.told", count === 0
    ? "All fields are the same." : `${counted(count, "field")} differ${count === 1 ? "s" : ""}.`),
  sides(rows));
}

async function bodyText(one, detail, names) {
  const body = names.map((name) => listOf(detail.bodies).find((entry) => entry.side === name))
    .find((entry) => entry?.kept > 0 && !entry.withheld);
  if (body === undefined) return { text: undefined, note: "not captured, or empty" };
  if (body.kept > bodyMax) return { text: undefined, note: `too long: ${size(body.kept)}` };
  const bytes = await one.source.body(one.id, body.side);
  const type = typeOf(body, detail);
  if (!isText(bytes)) {
    return { text: `binary, ${bytes.length} bytes`, note: "" };
  }
  const text = decoded(bytes, "utf-8");
  if (formOf(bytes, type) !== "json") return { text, note: "" };
  try {
    // The same layout on both sides, so that only values differ.
    return { text: pretty(parseJSON(text)), note: "" };
  } catch {
    return { text, note: "" };
  }
}

async function bodies(title, a, b, left, right, names) {
  const found = await attempt(() => Promise.all([bodyText(a, left, names), bodyText(b, right, names)]));
  const heading = el("h3", title);
  if (found === undefined) return el("section", heading);
  const [first, second] = found;
  if (first.text === undefined && second.text === undefined) {
    return el("section", heading, remark(`Left: ${first.note}. Right: ${second.note}.`));
  }
  if (first.text === second.text) return el("section", heading, remark("Both are the same."));
  const changes = folded(lineChanges(first.text ?? "", second.text ?? ""));
  if (changes.every((change) => change.kind === "gap")) {
    return el("section", heading, remark("They differ only behind what is compared."));
  }
  const notes = [first, second].filter((one) => one.note !== "").map((one) => remark(one.note));
  return el("section", heading, notes, sides(changes.slice(0, rowsMax)),
    changes.length > rowsMax && remark("More lines are not shown."));
}

function sides(rows) {
  const cell = (tag, text) => (text === undefined ? el("div.none")
    : el(tag, { text: shownLines(text.slice(0, lineMax)) }));
  return el("div.sides.mono", rows.map((row) => {
    if (row.kind === "gap") {
      return el("div.gap", `${counted(row.count, "line")} without a difference`);
    }
    const isSame = row.kind === "same";
    return [cell(isSame ? "div" : "del", row.before), cell(isSame ? "div" : "ins", row.after)];
  }));
}
