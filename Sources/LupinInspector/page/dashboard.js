// Decides what the dashboard shows of the rows held and of lupin's own counts.

import { button, choice, el, facts, fill, labelled, remark } from "./dom.js";
import { figures } from "./figures.js";
import { plot } from "./plot.js";
import { at, clock, counted, duration, shown, size } from "./text.js";

const refreshMs = 2000;
const spans = [["60", "1 minute"], ["300", "5 minutes"], ["900", "15 minutes"], ["3600", "1 hour"],
  ["86400", "1 day"], ["0", "all that the list holds"]];

const percent = (part, whole) => (whole > 0 ? `${((part / whole) * 100).toFixed(1)} %` : "–");
const rate = (value) => (value >= 10 || value === 0 ? String(Math.round(value))
  : value >= 1 ? value.toFixed(1) : value.toFixed(2));

/** The dashboard. `rows()` are those of the list, `status()` asks lupin or is nothing. */
export class Dashboard {
  constructor(root, { rows, status, onfilter, onclose }) {
    this.root = root;
    this.calls = { rows, status, onfilter, onclose };
    this.span = choice(spans, () => this.#draw(), { "aria-label": "Time shown" });
    this.span.value = "300";
    this.body = el("div.boards");
    this.counts = el("div.panel");
    fill(root, el("div.tools", el("h2", "Dashboard"),
      labelled("Time", this.span), button("Back to the list", onclose)), this.body);
  }

  get isOpen() {
    return !this.root.hidden;
  }

  open() {
    this.root.hidden = false;
    this.#round();
    this.span.focus();
  }

  close() {
    this.root.hidden = true;
    clearTimeout(this.timer);
  }

  #round() {
    clearTimeout(this.timer);
    if (!this.isOpen) return;
    if (!document.hidden) this.#draw();
    this.timer = setTimeout(() => this.#round(), refreshMs);
  }

  #draw() {
    const rows = this.calls.rows();
    let span = Number(this.span.value) * 1000;
    let end = Date.now();
    if (span === 0 && rows.length > 0) {
      const first = rows.reduce((least, row) => Math.min(least, row.at), Infinity);
      end = rows.reduce((most, row) => Math.max(most, row.at), 0) + 1;
      span = Math.max(1000, end - first);
    }
    if (span === 0) span = 60_000;
    const { all, bins, width, hosts } = figures(rows, end, span);
    const times = (part) => clock(end - span * (1 - part)).slice(0, 8);
    fill(this.body, tiles(all, span), this.#plots(all, bins, width, times),
      this.#hosts(hosts), this.counts);
    this.#status();
  }

  #plots(all, bins, width, times) {
    const perSecond = (count) => (count * 1000) / width;
    return [
      plot("Requests per second", [
        { name: "all", tone: "a", isBar: true, values: bins.map((bin) => perSecond(bin.count)) },
        { name: "errors", tone: "bad", isBar: true,
          values: bins.map((bin) => perSecond(bin.errors)) },
      ], { format: rate, times, note: `${counted(all.count, "request")}, `
        + `${counted(all.errors, "error")} (no answer, broken off, or 5xx)` }),
      plot("Latency", [["p50", "a"], ["p90", "b"], ["p99", "bad"]].map(([key, tone]) =>
        ({ name: key, tone, values: bins.map((bin) => bin[key]) })), {
        format: (value) => duration(value) || "0", times,
        note: `p50 ${duration(all.p50)}, p90 ${duration(all.p90)}, p99 ${duration(all.p99)}`,
      }),
      plot("Cache hits", [{ name: "hits of what the cache was asked for", tone: "b", isBar: true,
        values: bins.map((bin) => (bin.asked > 0 ? bin.hits / bin.asked : undefined)) }], {
        format: (value) => `${Math.round(value * 100)} %`, times, top: 1,
        note: `${percent(all.hits, all.asked)} of ${counted(all.asked, "look-up")}`,
      }),
    ];
  }

  #hosts(hosts) {
    const most = hosts[0]?.count ?? 1;
    return el("figure.panel", el("figcaption", el("strong", "Top hosts")),
      hosts.length === 0 ? remark("No exchange in this time.") : el("table.hosts",
        el("thead", el("tr", ["Host", "Requests", "Errors", "p90"].map((text) =>
          el("th", { scope: "col", text })))),
        el("tbody", hosts.map((host) => el("tr", el("th", { scope: "row" },
          this.#hostButton(host, most)), el("td", host.count.toLocaleString("en")),
        el("td", host.errors > 0 ? host.errors.toLocaleString("en") : ""),
        el("td", duration(host.p90)))))));
  }

  #hostButton(host, most) {
    const bar = el("i.share", { "aria-hidden": "true" });
    bar.style.width = `${(host.count / most) * 100}%`;
    const name = host.name.replace(/:\d+$/, "");
    return [button(shown(host.name) || "–", () => this.calls.onfilter(`host:"${name
      .replace(/["\\]/g, "\\$&")}"`), { class: "quiet", title: "Show these in the list" }), bar];
  }

  async #status() {
    if (this.isAsking || this.calls.status === undefined) return;
    this.isAsking = true;
    try {
      const found = await this.calls.status();
      if (found !== undefined) fill(this.counts, statusTable(found));
    } catch {
      fill(this.counts, remark("lupin does not answer."));
    }
    this.isAsking = false;
  }
}

function tiles(all, span) {
  const tile = (name, value) => el("div.tile", el("strong", value),
    el("span", name));
  return el("div.tiles",
    tile("requests a second", rate((all.count * 1000) / span)),
    tile("errors", percent(all.errors, all.count)),
    tile("median", duration(all.p50) || "–"),
    tile("99 of 100 within", duration(all.p99) || "–"),
    tile("cache hits", percent(all.hits, all.asked)),
    tile("saved by retries", all.saved.toLocaleString("en")),
    tile("received", size(all.bytes)));
}

function statusTable(status) {
  const outcomes = Object.entries(at(status, "exchanges") ?? {})
    .map(([name, value]) => `${shown(name)} ${shown(value)}`).join(", ");
  return el("div", el("strong", "lupin since its start"), facts([
    ["version", shown(status.version)], ["runs for", duration(Number(status.uptime))],
    ["proxy", shown(status.proxy)], ["rules", shown(at(status, "rules", "file"))],
    ["under way", shown(status.live)], ["connections", shown(status.connections)],
    ["exchanges", outcomes], ["attempts", shown(status.attempts)],
    ["records lost", shown(status.dropped)],
  ]));
}
