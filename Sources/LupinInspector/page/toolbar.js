// Decides what stands in the bar: filter, follow, counts, and the buttons of the whole list.

import { columns, chooseColumns, chosenColumns } from "./columns.js";
import { openDialog } from "./dialog.js";
import { button, el, fill, labelled } from "./dom.js";
import { counted, shown } from "./text.js";

/** The bar. `calls` has `search(text)`, and those of keys.js. */
export class Toolbar {
  constructor(root, calls) {
    this.calls = calls;
    this.input = el("input", {
      type: "search", class: "mono", spellcheck: "false", autocomplete: "off",
      placeholder: "Filter, such as host:*.example status:5xx", "aria-label": "Filter",
      "aria-describedby": "filter-problem", title: "Filter (/)",
      onkeydown: (event) => this.#typed(event),
      // The cross of a search field empties it.
      onsearch: () => this.#send(),
    });
    this.problem = el("pre", { id: "filter-problem", class: "problem mono", role: "alert",
      hidden: true });
    this.following = button("Pause", calls.follow);
    this.count = el("span.count", { role: "status" });
    this.file = el("input", { type: "file", accept: ".har,.json,application/json", hidden: true,
      "aria-label": "HAR file", onchange: () => {
        if (this.file.files.length > 0) calls.file(this.file.files[0]);
        this.file.value = "";
      } });
    this.leave = button("Leave the file", calls.leave, { hidden: true });
    fill(root, el("h1", "lupin"), el("div.filter", this.input, this.problem),
      this.following, this.count, this.leave, el("div.menu",
        button("Dashboard", calls.dashboard),
        button("Columns", () => this.chooseColumns()),
        button("Export", calls.export),
        button("Open", () => this.file.click()),
        button("Capture", calls.capture),
        button("Delete", calls.remove, { title: "Delete captures (D)" }),
        button("◐", calls.theme, { title: "Light or dark (t)", "aria-label": "Light or dark" }),
        button("?", calls.help, { title: "Keys (?)", "aria-label": "Keys" })), this.file);
  }

  get filter() {
    return this.input.value.trim();
  }

  set filter(text) {
    this.input.value = text;
  }

  #typed(event) {
    if (event.key === "Enter") this.#send();
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.calls.toList();
    }
  }

  #send() {
    // Chromium tells of Enter twice, as a key and as a search.
    if (this.filter === this.asked) return;
    this.asked = this.filter;
    this.calls.search(this.filter);
  }

  /** Says that the filter holds, or why not. */
  judged(filter, problem = "") {
    this.asked = filter;
    this.sent = problem === "" ? filter : undefined;
    this.problem.textContent = problem.split("\n").map(shown).join("\n");
    this.problem.hidden = problem === "";
    this.input.setAttribute("aria-invalid", problem !== "");
  }

  show({ isFollowing, count, live, dropped, archive }) {
    this.following.textContent = isFollowing ? "Pause" : "Follow";
    this.following.setAttribute("aria-pressed", isFollowing);
    this.following.hidden = archive !== undefined;
    this.leave.hidden = archive === undefined;
    const words = [counted(count, "exchange")];
    if (live > 0) words.push(`${live} under way`);
    if (dropped > 0) words.push(`${dropped.toLocaleString("en")} older ones dropped`);
    if (archive !== undefined) words.push(`of ${shown(archive)}, read-only`);
    const text = words.join(" · ");
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  chooseColumns() {
    const chosen = new Set(chosenColumns().map((column) => column.key));
    const boxes = columns.map((column) => {
      const box = el("input", { type: "checkbox", onchange: () => {
        if (box.checked) chosen.add(column.key);
        else chosen.delete(column.key);
        chooseColumns([...chosen]);
        this.calls.redraw();
      } });
      box.checked = chosen.has(column.key);
      return labelled(column.title, box, { class: "check" });
    });
    openDialog("Columns", el("div.checks", boxes));
  }
}
