// Decides how a tree unfolds: children are made when they are asked for, 500 at a time.

import { copy } from "./clipboard.js";
import { button, el } from "./dom.js";
import { Branch, pretty, Word } from "./json.js";
import { counted, shown, short } from "./text.js";

const childrenMax = 500;
const textMax = 500;
const matchesMax = 1000;
const revealMax = 5000;

/** The tree with its search. `depth` levels are open at first. */
export function treeView(value, { depth = 2, label = "JSON" } = {}) {
  const root = el("div.tree.mono", { role: "tree", "aria-label": label });
  const top = item(undefined, value);
  root.append(top.node);
  open(top, depth);
  top.line.tabIndex = 0;
  root.addEventListener("keydown", (event) => steer(root, event));
  root.addEventListener("focusin", (event) => {
    for (const line of root.querySelectorAll(".line[tabindex='0']")) line.tabIndex = -1;
    event.target.closest(".line")?.setAttribute("tabindex", "0");
  });
  const isSmall = root.querySelectorAll(".line").length < 12
    && root.querySelector("[aria-expanded='false']") === null;
  return el("div.treeview", !isSmall && searchBar(top, value), root);
}

function open(entry, depth) {
  if (depth <= 0 || !(entry.value instanceof Branch)) return;
  if (entry.value.items.length > 100 && depth < 2) return;
  entry.unfold();
  for (const child of entry.children) open(child, depth - 1);
}

function item(name, value) {
  const isBranch = value instanceof Branch && value.items.length > 0;
  const line = el("div.line", { tabindex: "-1" });
  const node = el("div.item", { role: "treeitem", "aria-expanded": isBranch ? "false" : undefined,
  }, line);
  const entry = { name, value, node, line, children: [], isOpen: false };
  line.append(el("span.fold", { "aria-hidden": "true", text: isBranch ? "▸" : "" }));
  if (name !== undefined) {
    line.append(el("span", { class: typeof name === "number" ? "index" : "key",
      text: shown(name) }), ": ");
  }
  line.append(...[literal(value)].flat());
  entry.unfold = () => unfold(entry);
  entry.fold = () => fold(entry);
  line.addEventListener("click", () => (entry.isOpen ? entry.fold() : entry.unfold()));
  node.entry = entry;
  return entry;
}

function literal(value) {
  if (value instanceof Word) return el("span.number", shown(value.text));
  if (value instanceof Branch) {
    const count = value.items.length;
    const text = value.names === undefined ? `[${count}]` : `{${count}}`;
    const names = value.names?.slice(0, 4).map((name) => short(name, 24)).join(", ");
    return el("span.branch", names ? `${text} ${names}` : text);
  }
  if (typeof value === "string") return textLiteral(value);
  return el("span", { class: typeof value === "number" ? "number" : "word",
    text: String(value) });
}

function textLiteral(value) {
  const rest = value.length - textMax;
  const node = el("span.text", `"${shown(value.slice(0, textMax))}${rest > 0 ? "" : "\""}`);
  return rest <= 0 ? node : [node, button(`… ${counted(rest, "more character")}`, (event) => {
    event.stopPropagation();
    node.textContent = `"${shown(value.slice(0, 200_000))}`;
    event.target.remove();
  }, { class: "quiet" })];
}

function unfold(entry) {
  if (!(entry.value instanceof Branch) || entry.value.items.length === 0 || entry.isOpen) return;
  entry.isOpen = true;
  entry.node.setAttribute("aria-expanded", "true");
  entry.line.firstChild.textContent = "▾";
  entry.group ??= el("div.group", { role: "group" });
  entry.node.append(entry.group);
  if (entry.children.length === 0) grow(entry);
}

function fold(entry) {
  if (!entry.isOpen) return;
  entry.isOpen = false;
  entry.node.setAttribute("aria-expanded", "false");
  entry.line.firstChild.textContent = "▸";
  entry.group.remove();
}

function grow(entry) {
  const { items, names } = entry.value;
  const start = entry.children.length;
  const end = Math.min(items.length, start + childrenMax);
  entry.more?.remove();
  for (let i = start; i < end; i += 1) {
    const child = item(names === undefined ? i : names[i], items[i]);
    entry.children.push(child);
    entry.group.append(child.node);
  }
  if (end === items.length) return;
  entry.more = button(`${(items.length - end).toLocaleString("en")} more`, () => grow(entry));
  entry.group.append(entry.more);
}

function steer(root, event) {
  const line = event.target.closest(".line");
  if (line === null || event.target !== line) return;
  const entry = line.parentNode.entry;
  const lines = () => [...root.querySelectorAll(".line")];
  const go = (by) => lines()[lines().indexOf(line) + by]?.focus();
  const acts = {
    ArrowDown: () => go(1),
    ArrowUp: () => go(-1),
    ArrowRight: () => (entry.isOpen ? go(1) : entry.unfold()),
    ArrowLeft: () => {
      if (entry.isOpen) entry.fold();
      else line.parentNode.parentNode.closest(".item")?.firstChild.focus();
    },
    Enter: () => (entry.isOpen ? entry.fold() : entry.unfold()),
    y: () => copy(typeof entry.value === "string" ? entry.value : pretty(entry.value)),
  };
  if (acts[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  acts[event.key]();
}

// The places of a text: lists of child numbers, in the order of the tree.
function matches(value, text) {
  const found = [];
  const wanted = text.toLowerCase();
  const hit = (word) => String(word).toLowerCase().includes(wanted);
  const visit = (node, path) => {
    if (found.length >= matchesMax) return;
    if (node instanceof Branch) {
      for (let i = 0; i < node.items.length && found.length < matchesMax; i += 1) {
        path.push(i);
        const child = node.items[i];
        const isHit = (node.names !== undefined && hit(node.names[i]))
          || (!(child instanceof Branch) && hit(child instanceof Word ? child.text : child));
        if (isHit) found.push([...path]);
        visit(child, path);
        path.pop();
      }
    }
  };
  visit(value, []);
  return found;
}

function searchBar(top, value) {
  const state = { found: [], place: -1 };
  const told = el("span.told", { role: "status" });
  const step = (by) => {
    if (state.found.length === 0) return;
    state.place = (state.place + by + state.found.length) % state.found.length;
    const path = state.found[state.place];
    const more = state.found.length === matchesMax ? "+" : "";
    told.textContent = `${state.place + 1} of ${state.found.length}${more}: `
      + short(pointer(value, path), 60);
    reveal(top, path);
  };
  const input = el("input", {
    type: "search", placeholder: "Search names and values", "aria-label": "Search the tree",
    onchange: () => {
      const text = input.value;
      state.found = text === "" ? [] : matches(value, text);
      state.place = -1;
      told.textContent = text === "" ? "" : "Nothing is found.";
      step(1);
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && state.found.length > 0) step(event.shiftKey ? -1 : 1);
    },
  });
  return el("div.tools", input, button("↑", () => step(-1), {
    "aria-label": "The match before",
  }), button("↓", () => step(1), { "aria-label": "The next match" }), told,
  button("Copy indented", () => copy(pretty(value))));
}

/** The JSON pointer (RFC 6901) of a place. */
function pointer(value, path) {
  let now = value;
  let text = "";
  for (const index of path) {
    const name = now.names === undefined ? index : now.names[index];
    text += `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    now = now.items[index];
  }
  return text;
}

function reveal(top, path) {
  let entry = top;
  for (const index of path) {
    // Too far down to be made; the pointer beside the search says where it is.
    if (index > revealMax) break;
    entry.unfold();
    while (entry.children.length <= index) grow(entry);
    entry = entry.children[index];
  }
  top.node.parentNode.querySelector(".found")?.classList.remove("found");
  entry.line.classList.add("found");
  entry.line.scrollIntoView({ block: "nearest" });
}
