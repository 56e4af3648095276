// Decides what can be done with the exchange that is open, or with the one chosen in the list.

import { api } from "./api.js";
import { copy } from "./clipboard.js";
import { openComparison } from "./compare.js";
import { asCurl, asNode, asPython } from "./copyas.js";
import { confirmed, openDialog } from "./dialog.js";
import { button, el, fill, labelled, remark } from "./dom.js";
import { dropHost, heldHosts } from "./hold.js";
import { openRuleForm } from "./makerule.js";
import { attempt, notify } from "./notice.js";
import { requestOf } from "./request.js";
import { openSendForm, sendAgain } from "./send.js";
import { listOf, shown, size } from "./text.js";

const writers = { curl: asCurl, python: asPython, node: asNode };

/** The actions. `hooks`: `open(id)`, `refresh()`, `rulesChanged()`, `marked(id, isMarked)`. */
export class Actions {
  constructor(hooks) {
    this.hooks = hooks;
  }

  /** The buttons of an exchange. */
  buttons(context) {
    const isReadOnly = context.source.isReadOnly === true;
    const isEnded = context.detail.record !== undefined;
    const isFirst = this.first?.id === context.id;
    return [
      el("span", "Copy as"),
      button("curl", () => this.copyAs(context, "curl")),
      button("Python", () => this.copyAs(context, "python")),
      button("fetch", () => this.copyAs(context, "node")),
      !isReadOnly && isEnded && [
        button("Send again", () => this.again(context)),
        button("Edit and send", () => this.edit(context)),
        button("Make a rule", () => this.rule(context)),
        button(context.detail.note?.marked ? "★ Marked" : "☆ Mark", () => this.mark(context),
          { "aria-pressed": context.detail.note?.marked === true }),
        button("Comment", () => this.comment(context)),
      ],
      isEnded && button(this.first === undefined ? "Compare" : isFirst ? "Compare with…"
        : "Compare with the first", () => this.compare(context), {
        "aria-pressed": isFirst,
      }),
      !isReadOnly && !isEnded && button("Cut it", () => this.cut(context.id), {
        class: "danger",
      }),
    ];
  }

  async copyAs(context, kind) {
    const request = await attempt(() => requestOf(context));
    if (request !== undefined) await copy(writers[kind](request));
  }

  async again(context) {
    const id = await sendAgain(context);
    if (id !== undefined) this.hooks.open(id);
  }

  edit(context) {
    openSendForm(context, (id) => this.hooks.open(id));
  }

  rule(context, kind) {
    openRuleForm(context, () => this.hooks.rulesChanged(), kind);
  }

  compare(context) {
    const one = { source: context.source, id: context.id };
    if (this.first === undefined || this.first.id === context.id) {
      const wasFirst = this.first !== undefined;
      this.first = wasFirst ? undefined : one;
      notify(wasFirst ? "Nothing is chosen for comparing." : "Open another exchange, and compare.");
      this.hooks.refresh();
      return;
    }
    openComparison(this.first, one);
    this.first = undefined;
    this.hooks.refresh();
  }

  async mark(context) {
    await this.#note(context, { marked: context.detail.note?.marked !== true,
      comment: context.detail.note?.comment ?? "" });
  }

  comment(context) {
    const area = el("textarea", { rows: "5", maxlength: "2000" });
    area.value = context.detail.note?.comment ?? "";
    const save = button("Save", async () => {
      dialog.close();
      await this.#note(context, { marked: context.detail.note?.marked === true,
        comment: area.value.trim() });
    }, { class: "primary" });
    const dialog = openDialog("Comment", labelled("About this exchange", area), { actions: [save] });
    area.focus();
  }

  async #note(context, wish) {
    const note = await attempt(() => api.note(context.id, wish));
    if (note === undefined) return;
    this.hooks.marked(context.id, wish.marked);
    this.hooks.refresh();
  }

  async cut(id) {
    const isSure = await confirmed("Cut this exchange?",
      "lupin closes its connections. The client sees an error.", "Cut it");
    if (!isSure) return;
    await attempt(async () => {
      await api.cut(id);
      notify("Cut.");
    });
    this.hooks.refresh();
  }

  /** The dialog about what is captured. */
  capture() {
    const content = el("div");
    const show = () => attempt(async () => fill(content, this.#captured(await api.capture(), show)));
    openDialog("Capture", content);
    show();
  }

  #captured(now, show) {
    const hosts = listOf(now.hosts).map(String);
    const change = (list) => attempt(() => api.setCapture(list)).then(show);
    const drop = (host) => attempt(() => dropHost(host)).then(show);
    const input = el("input.mono", { placeholder: "api.example, *.example or **" });
    const add = button("Capture it", () => change([...hosts, input.value.trim()]), {
      class: "primary",
    });
    return [
      remark("lupin keeps the bodies of these hosts while it runs, and those that rules name."),
      chips(hosts, (host) => change(hosts.filter((one) => one !== host))),
      heldHosts().length > 0 && [remark("While this page is open, and up to three minutes longer:"),
        chips(heldHosts(), drop)],
      el("div.pair", labelled("Host", input), add),
      remark(`${Number(now.exchanges) || 0} exchanges with ${size(Number(now.bytes) || 0)} are kept; `
        + `at most ${size(Number(now.bodies))} of a body, ${size(Number(now.disk))} in all.`),
    ];
  }
}

function chips(hosts, drop) {
  return el("ul.chips", hosts.map((host) => el("li", shown(host), button("✕", () => drop(host), {
    class: "quiet", "aria-label": `Capture ${shown(host)} no longer`,
  }))));
}
