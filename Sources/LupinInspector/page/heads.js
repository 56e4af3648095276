// Decides how the tabs Request and Response show both sides: as one table with what rules changed.

import { fieldChanges } from "./diff.js";
import { el, remark } from "./dom.js";
import { causeOf, isOutdated, keysOf } from "./explanation.js";
import { listOf, shown } from "./text.js";

const fieldsMax = 1000;
const marks = { same: "", changed: "±", removed: "−", added: "+" };
const words = { same: "", changed: "changed", removed: "removed", added: "added" };

const sides = {
  request: {
    before: "request", after: "sent",
    first: "what the client sent", second: "what went to the origin",
  },
  response: {
    before: "received", after: "response",
    first: "what the origin sent", second: "what the client got",
  },
};

/** The tab of a side, `request` or `response`. */
export async function headTab(side, context) {
  const { detail } = context;
  const names = sides[side];
  let before = detail[names.before];
  let after = detail[names.after];
  if (before === undefined && after === undefined) return remark(`There is no ${side} on record.`);
  const isWhole = before !== undefined && after !== undefined;
  const notes = [];
  if (!isWhole) notes.push(remark(missing(side, before, detail)));
  before ??= after;
  after ??= before;
  const changes = fieldChanges(listOf(before.fields), listOf(after.fields));
  const count = changes.filter((change) => change.kind !== "same").length;
  if (isWhole) {
    notes.push(remark(count === 0
      ? `No field differs between ${names.first} and ${names.second}.`
      : `${count} of ${changes.length} fields differ: − is ${names.first}, + is ${names.second}.`));
  }
  const causes = isWhole && count > 0 ? await causesOf(context) : { keys: [] };
  if (causes.isOutdated) {
    notes.push(remark("The rules changed since; the lines are those of the present file."));
  }
  return el("div", startLine(side, before, after),
    notes,
    isWhole && count > 0 && toggle(),
    fieldTable(changes, side, { ...causes, record: detail.record }),
  );
}

function missing(side, before, detail) {
  if (side === "request") {
    return "Nothing went to the origin: lupin answered itself, or the cache did.";
  }
  if (before === undefined) {
    const { attempts, rules } = detail.record ?? {};
    if (listOf(attempts).length === 0) return "lupin or its cache made this response; no origin did.";
    if (listOf(rules?.steps).length > 0) return "The origin's own fields are not on record any more.";
    return detail.bodies === undefined
      ? "The origin's own fields are known only of captured exchanges. These are the client's."
      : "The rules changed nothing: the client got these fields as the origin sent them.";
  }
  return "The client got no response.";
}

async function causesOf({ source, id }) {
  try {
    const text = await source.explain(id);
    return { keys: keysOf(text), isOutdated: isOutdated(text) };
  } catch {
    // The steps of the record are named without their lines then.
    return { keys: [] };
  }
}

function startLine(side, before, after) {
  const [first, second] = [before, after].map((head) => shown(side === "request"
    ? `${head.method} ${head.target}` : `status ${head.status}`));
  return el("div.start.mono", first === second ? first : [el("del", first), el("ins", second)]);
}

function toggle() {
  return el("label.check", el("input", {
    type: "checkbox",
    onchange: (event) => event.target.closest(".pane").classList
      .toggle("changes-only", event.target.checked),
  }), "only what differs");
}

function fieldTable(changes, side, causes) {
  const rows = changes.slice(0, fieldsMax).map((change) => fieldRow(change, side, causes));
  const rest = changes.length - rows.length;
  return el("div", el("table.fields",
      el("thead.unseen", el("tr", ["Change", "Name", "Value"].map((text) =>
        el("th", { scope: "col", text })))),
      el("tbody", rows)),
    rest > 0 && remark(`${rest} more fields are not shown.`),
  );
}

function fieldRow(change, side, causes) {
  const { kind, name } = change;
  const value = el("td.value");
  if (kind !== "added") {
    value.append(kind === "same" ? shown(change.before)
      : el("del", shown(change.before)));
  }
  if (kind === "changed") value.append(el("br"));
  if (kind === "changed" || kind === "added") {
    value.append(el("ins", shown(change.after)));
  }
  if (kind !== "same") value.append(causeNote(causeOf(name, side, causes)));
  return el("tr", { class: kind },
    el("td.mark", { "aria-label": words[kind], text: marks[kind] }),
    el("th", { scope: "row", text: shown(name) }),
    value,
  );
}

function causeNote({ text, places }) {
  if (text === "" && places.length === 0) return "";
  const seen = new Set();
  const rules = places.map((place) => {
    const where = place.line === undefined ? "" : ` (${place.file ?? "line"}:${place.line})`;
    return `rule “${shown(place.rule)}”${shown(where).replace("line:", "line ")}`;
  }).filter((rule) => !seen.has(rule) && seen.add(rule));
  const tail = rules.length > 1 ? ` — one of ${rules.join(", ")}`
    : rules.length === 1 ? ` — ${rules[0]}` : "";
  return el("div.cause", shown(text) + tail);
}
