// Decides how long lists of things to open look: 200 at a time, each filled when it is opened.

import { button, el } from "./dom.js";

const stepMax = 200;

/** A list. `describe(item, index)` returns `{title: [words], content(), isOpen}`. */
export function entries(items, describe) {
  const box = el("div.entries");
  const more = button("", grow);
  let count = 0;
  function grow() {
    more.remove();
    const end = Math.min(items.length, count + stepMax);
    for (; count < end; count += 1) box.append(entry(describe(items[count], count)));
    if (count === items.length) return;
    more.textContent = `${(items.length - count).toLocaleString("en")} more`;
    box.append(more);
  }
  grow();
  return box;
}

function entry({ title, content, isOpen, tone = "" }) {
  const node = el(
    "details",
    { class: tone, ontoggle: () => {
      if (node.open && node.childElementCount === 1) node.append(content());
    } },
    el("summary", title.filter((word) => word !== "").map((word) =>
      el("span", word))),
  );
  node.open = isOpen === true;
  return node;
}
