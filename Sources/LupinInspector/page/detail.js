// Decides what is shown of one exchange: its head with the actions, and the tab that is open.

import { bodyTab } from "./body.js";
import { cacheTab } from "./cacheview.js";
import { button, el, fill, remark } from "./dom.js";
import { headTab } from "./heads.js";
import { treeOf } from "./json.js";
import { treeView } from "./jsontree.js";
import { rulesTab } from "./rulesview.js";
import { at, day, duration, shown, size } from "./text.js";
import { timelineTab } from "./timeline.js";
import { trustTab } from "./trust.js";

const tabs = [
  ["request", "Request", (context) => headTab("request", context)],
  ["response", "Response", (context) => headTab("response", context)],
  ["body", "Body", bodyTab],
  ["timeline", "Timeline", timelineTab],
  ["trust", "Trust", trustTab],
  ["cache", "Cache", cacheTab],
  ["rules", "Rules", rulesTab],
  ["record", "Record", recordTab],
];

const pollMs = 1000;

function recordTab({ detail }) {
  const record = detail.record ?? detail.live;
  return treeView(treeOf(record), { label: "Record", depth: 3 });
}

// How it went, in words.
function outcome(record) {
  const status = record.http?.response?.status_code;
  const words = { ok: "delivered whole", error: "lupin made the response", denied: "refused",
    aborted: "the client left", truncated: "broken off behind the head of the response" };
  return [status && `status ${shown(status)}`, at(words, record.outcome) ?? shown(record.outcome)]
    .filter(Boolean).join(", ");
}

/** The pane of one exchange. `actions(context)` returns buttons. */
export class Detail {
  constructor(root, { actions, onclose, ontab, rulebook }) {
    this.root = root;
    this.calls = { actions, onclose, ontab, rulebook };
    this.tab = "request";
    this.round = 0;
  }

  get isOpen() {
    return !this.root.hidden;
  }

  /** Shows an exchange of a source. */
  async open(source, id, { makeRule, again } = {}) {
    const round = (this.round += 1);
    clearTimeout(this.timer);
    this.id = id;
    this.source = source;
    this.hooks = { makeRule, again };
    this.root.hidden = false;
    if (this.context?.id !== id) this.context = undefined;
    let detail;
    try {
      detail = await source.detail(id);
    } catch (error) {
      if (round !== this.round) return;
      this.context = undefined;
      this.#shell(el("p.title", shown(id.slice(0, 8))),
        remark(shown(error.message)), []);
      return;
    }
    if (round !== this.round) return;
    this.#show(detail);
    // One under way is asked for again until it has ended.
    if (detail.record === undefined && detail.live !== undefined) {
      this.timer = setTimeout(() => {
        if (round === this.round) this.open(source, id, this.hooks);
      }, pollMs);
    }
  }

  close() {
    this.round += 1;
    clearTimeout(this.timer);
    this.root.hidden = true;
    this.context = undefined;
    this.id = undefined;
    this.root.replaceChildren();
  }

  refresh() {
    if (this.id !== undefined) this.open(this.source, this.id, this.hooks);
  }

  /** Opens a tab by its key, or the one beside by a number of places. */
  choose(tab) {
    const keys = tabs.map(([key]) => key);
    this.tab = typeof tab === "number"
      ? keys[(keys.indexOf(this.tab) + tab + keys.length) % keys.length]
      : keys.includes(tab) ? tab : keys[0];
    this.calls.ontab(this.tab);
    if (this.context !== undefined) this.#showTab();
  }

  /** Opens the tab at a place; returns whether there is one. */
  chooseAt(place) {
    if (tabs[place] === undefined) return false;
    this.choose(tabs[place][0]);
    return true;
  }

  #show(detail) {
    const { source, id } = this;
    const isLive = detail.record === undefined && detail.live !== undefined;
    if (isLive && this.context?.isLive) {
      // Buttons keep their focus while the time passes.
      this.context.detail = detail;
      this.root.querySelector(".told")?.replaceWith(summary(detail.live, detail));
      return;
    }
    const explain = once(() => source.explain(id));
    this.context = {
      id, detail, isLive, rulebook: this.calls.rulebook,
      // Several tabs read the explanation; it is asked for once.
      source: Object.create(source, { explain: { value: explain } }),
      makeRule: this.hooks.makeRule,
      refresh: (what) => (what === "again" ? this.hooks.again?.() : this.refresh()),
    };
    const record = detail.record ?? detail.live ?? {};
    this.#shell(title(record, detail), summary(record, detail), this.calls.actions(this.context));
    this.#showTab();
  }

  #shell(head, text, actions) {
    const close = button("✕", () => this.calls.onclose(), {
      class: "quiet close", "aria-label": "Back to the list", title: "Back to the list (Escape)",
    });
    this.pane = el("div.pane", { role: "tabpanel", id: "pane", tabindex: "0" });
    this.bar = el("div.tabs", { role: "tablist", "aria-label": "Parts of the exchange" },
      tabs.map(([key, name]) => button(name, () => this.choose(key), {
        role: "tab", id: `tab-${key}`, "aria-controls": "pane", "data-key": key,
      })));
    this.bar.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(by);
      this.bar.querySelector("[aria-selected='true']")?.focus();
    });
    fill(this.root, el("header.detailhead", el("div.titleline",
      head, close), text, el("div.actions", actions)),
    this.context !== undefined && this.bar, this.context !== undefined && this.pane);
  }

  async #showTab() {
    const { context, pane } = this;
    for (const tab of this.bar.children) {
      const isOpen = tab.dataset.key === this.tab;
      tab.setAttribute("aria-selected", isOpen);
      tab.tabIndex = isOpen ? 0 : -1;
      if (isOpen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    pane.setAttribute("aria-labelledby", `tab-${this.tab}`);
    pane.classList.remove("changes-only");
    const key = this.tab;
    const wanted = () => pane === this.pane && key === this.tab && context === this.context;
    if (!isKnown(context.detail, key)) {
      fill(pane, remark("The exchange is under way; this tab fills when it ends."));
      return;
    }
    try {
      const made = await tabs.find(([name]) => name === key)[2](context);
      if (wanted()) fill(pane, made);
    } catch (error) {
      if (wanted()) fill(pane, remark(`This can't be shown: ${shown(error.message)}`));
    }
    if (wanted()) pane.scrollTop = 0;
  }
}

// What an exchange under way can show.
function isKnown(detail, key) {
  if (detail.record !== undefined || key === "record") return true;
  if (key === "body") return detail.bodies !== undefined || detail.messages > 0;
  return (key === "request" || key === "response") && detail[key] !== undefined;
}

function once(make) {
  let made;
  return () => (made ??= make());
}

function title(record, detail) {
  const method = record.http?.request?.method_original ?? record.http?.request?.method
    ?? record.method ?? detail.request?.method ?? "CONNECT";
  const port = record.url?.port === undefined ? "" : `:${record.url.port}`;
  const url = record.url?.full ?? (typeof record.url === "string" ? record.url
    : `${record.url?.domain ?? record.host ?? ""}${port}`);
  return el("h2.title", el("span.method", shown(method)), " ",
    el("span.mono", shown(String(url).slice(0, 2000))));
}

function summary(record, detail) {
  if (detail.record === undefined) {
    const waits = String(record.waits_for ?? "").replaceAll("_", " ");
    return el("p.told", `under way for ${duration(record.elapsed ?? record.age)}; `
      + `waits for ${shown(waits)}`);
  }
  const error = record.error;
  const words = [outcome(record), duration(record.timing?.total), size(record.http?.response?.body?.size),
    day(Date.parse(record.ts)), record.client?.program && shown(record.client.program)];
  const note = detail.note;
  return el("div", el("p.told", words.filter(Boolean).join(" · ")),
    error && el("p.loss", [error.type, error.detail, error.side
      && `the fault is on the side: ${error.side}`].filter(Boolean).map(shown).join(" · ")),
    note && (note.marked || note.comment) && el("p.note", note.marked ? "★ " : "",
      shown(note.comment ?? "")),
  );
}
