// Decides how the tab Rules shows the explanation: which rules matched, and lupin's own words.

import { button, el, remark } from "./dom.js";
import { sectionsOf } from "./explanation.js";
import { at, listOf, shown } from "./text.js";

/** The tab Rules. */
export async function rulesTab({ detail, source, id, rulebook, makeRule }) {
  const record = detail.record ?? {};
  const [text, book] = await Promise.all([
    source.explain(id).catch((error) => String(error.message)), rulebook(),
  ]);
  const matched = listOf(at(record, "rules", "matched")).map(String);
  const steps = listOf(at(record, "rules", "steps")).map(String);
  const isOther = book.version !== undefined && book.version !== at(record, "rules", "version");
  return el("div", el("h3", "Rules that matched"),
    matched.length === 0 ? remark("None.")
      : el("ul.chips", matched.map((name) => el("li", {
        text: shown(name) + lineOf(name, book),
      }))),
    steps.length > 0 && [el("h3", "What was done"), el("ul.words.mono",
      steps.map((step) => el("li", shown(step))))],
    isOther && remark("The rules changed since this exchange; what follows is about those of now."),
    !source.isReadOnly && button("Make a rule of this", () => makeRule()),
    explained(text),
  );
}

function lineOf(name, book) {
  const found = listOf(book.rules).find((rule) => at(rule, "name") === name);
  return found === undefined ? "" : ` (line ${found.line})`;
}

const tones = [["✓", "good"], ["✗", "bad"], ["?", "odd"], ["+", "good"]];

/** The text, with its headings; a rule that failed stands out from one that matched. */
function explained(text) {
  return el("div.explain.mono", sectionsOf(text).map(({ title, lines }) => {
    while (lines.at(-1) === "") lines.pop();
    return el("section", title !== "" && el("h4", title), lines.map((line) => {
      const tone = tones.find(([sign]) => line.trimStart().startsWith(`${sign} `))?.[1];
      return el("div", { class: tone, text: shown(line.replace(/^ {2}/, "")) || "\u00a0" });
    }));
  }));
}
