// Decides what of the list is in the page: only the rows that are seen, which are used again.

import { chosenColumns, template, tone } from "./columns.js";
import { el, fill } from "./dom.js";
import { shown } from "./text.js";

const rowHeight = 24;
// Rows beside the seen ones, so that a fast wheel meets no gap.
const spare = 12;

export class List {
  /** `onopen(row)`, `onselect(row)`, `onend()` when the last row comes near. */
  constructor(root, calls) {
    this.calls = calls;
    this.rows = [];
    this.live = [];
    this.isNewestFirst = true;
    this.selected = "";
    this.nodes = [];
    this.head = el("div.row.head", { role: "row", "aria-rowindex": "1" });
    this.space = el("div.space", { role: "presentation" });
    this.empty = el("p.remark.empty", { hidden: true });
    this.view = el("div.rows", { role: "grid", tabindex: "0", id: "rows",
      "aria-label": "Exchanges, the latest first",
      onscroll: () => this.#later(),
      onclick: (event) => this.#clicked(event),
      ondblclick: () => this.calls.onopen(this.row),
    }, this.head, this.space, this.empty);
    root.append(this.view);
    this.setColumns();
    new ResizeObserver(() => this.#later()).observe(this.view);
  }

  setColumns() {
    this.columns = chosenColumns();
    this.view.style.setProperty("--columns", template(this.columns));
    fill(this.head, el("span"), this.columns.map((column) => el("span", {
      role: "columnheader",
      class: column.isNumber ? `cell number c-${column.key}` : `cell c-${column.key}`,
      text: column.title,
    })));
    this.view.setAttribute("aria-colcount", this.columns.length);
    for (const node of this.nodes) node.remove();
    this.nodes = [];
    this.#later();
  }

  get count() {
    return this.live.length + this.rows.length;
  }

  /** The row at a place of the list, counted from the top. */
  at(index) {
    if (index < this.live.length) return this.live[index];
    const place = index - this.live.length;
    return this.rows[this.isNewestFirst ? this.rows.length - 1 - place : place];
  }

  get row() {
    const index = this.index;
    return index < 0 ? undefined : this.at(index);
  }

  get index() {
    if (this.selected === "") return -1;
    for (let i = 0; i < this.count; i += 1) {
      if (this.at(i).id === this.selected) return i;
    }
    return -1;
  }

  /**
   * Shows other rows. `added` is how many came at the top: the scroll place moves with them
   * unless it is the top itself.
   */
  show(rows, live, { isNewestFirst = true, added = 0, note = "" } = {}) {
    const moved = added + live.length - this.live.length;
    this.rows = rows;
    this.live = live;
    this.isNewestFirst = isNewestFirst;
    this.space.style.height = `${this.count * rowHeight}px`;
    this.view.setAttribute("aria-rowcount", this.count + 1);
    this.empty.hidden = this.count > 0;
    this.empty.textContent = note;
    if (moved !== 0 && this.view.scrollTop > 0) this.view.scrollTop += moved * rowHeight;
    this.#later();
  }

  select(id, isSeen = true) {
    this.selected = id;
    if (isSeen) this.#reveal(this.index);
    this.#later();
  }

  /** Moves the selection by rows; returns whether there was one to go to. */
  move(by) {
    const now = this.index;
    const index = Math.max(0, Math.min(this.count - 1, now < 0 ? 0 : now + by));
    const row = this.at(index);
    if (row === undefined) return false;
    this.selected = row.id;
    this.#reveal(index);
    this.calls.onselect(row);
    this.#later();
    return true;
  }

  /** How many rows are seen at once. */
  get page() {
    return Math.max(1, Math.floor((this.view.clientHeight - rowHeight) / rowHeight) - 1);
  }

  top() {
    this.view.scrollTop = 0;
  }

  #reveal(index) {
    if (index < 0) return;
    const y = index * rowHeight;
    const height = this.view.clientHeight - rowHeight;
    if (y < this.view.scrollTop) this.view.scrollTop = y;
    else if (y + rowHeight > this.view.scrollTop + height) {
      this.view.scrollTop = y + rowHeight - height;
    }
  }

  #clicked(event) {
    const node = event.target.closest("[data-id]");
    if (node === null) return;
    this.selected = node.dataset.id;
    this.calls.onselect(this.row);
    this.calls.onopen(this.row);
    this.#later();
  }

  #later() {
    if (this.frame !== undefined) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = undefined;
      this.#draw();
    });
  }

  #draw() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / rowHeight) - spare);
    const seen = Math.ceil(this.view.clientHeight / rowHeight) + 2 * spare;
    const last = Math.min(this.count, first + seen);
    while (this.nodes.length < seen) this.#addNode();
    for (const [place, node] of this.nodes.entries()) {
      // Row i is always in node i modulo their number, so that scrolling changes few nodes.
      const size = this.nodes.length;
      const index = first + ((place - (first % size)) + size) % size;
      if (index < last) this.#write(node, index);
      else if (!node.hidden) node.hidden = true;
    }
    const isFound = this.nodes.some((node) => !node.hidden && node.dataset.id === this.selected);
    if (isFound) this.view.setAttribute("aria-activedescendant", `row-${this.selected}`);
    else this.view.removeAttribute("aria-activedescendant");
    if (last >= this.count - 2 * spare) this.calls.onend();
  }

  #addNode() {
    const node = el("div.row", { role: "row", hidden: true }, el("span", {
      class: "dot",
    }), this.columns.map((column) => el("span", {
      role: "gridcell",
      class: column.isNumber ? `cell number c-${column.key}` : `cell c-${column.key}`,
    })));
    this.nodes.push(node);
    this.space.append(node);
  }

  #write(node, index) {
    const row = this.at(index);
    if (row === undefined) return;
    const isSelected = row.id === this.selected;
    if (node.hidden) node.hidden = false;
    if (node.dataset.index !== String(index)) {
      node.dataset.index = index;
      node.style.transform = `translateY(${index * rowHeight}px)`;
      node.setAttribute("aria-rowindex", index + 2);
      node.classList.toggle("even", index % 2 === 0);
    }
    if (node.row !== row || node.rowMark !== row.mark || row.live) {
      node.row = row;
      node.rowMark = row.mark;
      node.dataset.id = row.id;
      node.id = `row-${shown(row.id)}`;
      node.dataset.tone = tone(row);
      node.firstChild.textContent = row.mark ? "★" : "";
      let cell = node.firstChild.nextSibling;
      for (const column of this.columns) {
        const text = column.value(row);
        if (cell.textContent !== text) cell.textContent = text;
        cell = cell.nextSibling;
      }
    }
    if (node.isSelected !== isSelected) {
      node.isSelected = isSelected;
      node.setAttribute("aria-selected", isSelected);
    }
  }
}
