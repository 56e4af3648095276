// Decides which key does what, and lists the keys.

import { isDialogOpen, openDialog } from "./dialog.js";
import { el } from "./dom.js";

/** The keys: `[keys, words, name of the action]`. */
const table = [
  [["j", "ArrowDown"], "next exchange", "next"],
  [["k", "ArrowUp"], "exchange before", "previous"],
  [["PageDown"], "a page down", "pageDown"],
  [["PageUp"], "a page up", "pageUp"],
  [["g", "Home"], "the latest", "first"],
  [["G", "End"], "the oldest in the list", "last"],
  [["Enter"], "open the exchange", "open"],
  [["Escape"], "back to the list", "back"],
  [["/"], "filter", "filter"],
  [["f"], "follow, or pause", "follow"],
  [["]", "ArrowRight"], "next tab", "nextTab"],
  [["[", "ArrowLeft"], "tab before", "previousTab"],
  [["1 to 8"], "a tab", ""],
  [["y"], "copy as curl", "curl"],
  [["Y"], "copy as Python", "python"],
  [["N"], "copy as node fetch", "node"],
  [["r"], "send again", "again"],
  [["e"], "send again, edited", "edit"],
  [["n"], "make a rule of this", "rule"],
  [["c"], "compare: choose the first, then the second", "compare"],
  [["m"], "mark, or take the mark off", "mark"],
  [["w"], "write a comment", "comment"],
  [["x"], "cut one that is under way", "cut"],
  [["D"], "delete captures", "remove"],
  [["d"], "dashboard", "dashboard"],
  [["s"], "export the list as HAR", "export"],
  [["o"], "open a HAR file", "openFile"],
  [["v"], "columns", "columns"],
  [["t"], "light or dark", "theme"],
  [["?"], "these keys", "help"],
];

const byKey = new Map(table.flatMap(([keys, , action]) => keys.map((key) => [key, action])));

// These scroll a pane that has the focus.
const scrolling = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "ArrowRight",
  "ArrowLeft"];

function isTaken(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  if (isDialogOpen()) return true;
  if (target.closest("input:not([type=checkbox]), textarea, select")) return event.key !== "Escape";
  if (event.key === "Enter" && target.closest("button, summary, label")) return true;
  return scrolling.includes(event.key) && target.closest(".pane, .board, .textview, .hexview") !== null;
}

/** Calls `actions[name]()` for the keys of the page; `tab(number)` for digits. */
export function listenForKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (isTaken(event)) return;
    if (/^[1-9]$/.test(event.key)) {
      if (actions.tab(Number(event.key) - 1)) event.preventDefault();
      return;
    }
    const name = byKey.get(event.key);
    if (name === undefined || name === "") return;
    if (actions[name](event) !== false) event.preventDefault();
  });
}

export function showKeys() {
  openDialog("Keys", el("dl.keys", table.map(([keys, words]) => [
    el("dt", keys.map((key) => el("kbd", key.replace("Arrow", "")))),
    el("dd", words),
  ])));
}
