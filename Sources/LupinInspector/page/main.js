// Decides how the parts of the page work together: session, list, detail, dashboard, keys.

import { Actions } from "./actions.js";
import { api, beginSession, hasToken } from "./api.js";
import { Dashboard } from "./dashboard.js";
import { openDeletion } from "./deletion.js";
import { Detail } from "./detail.js";
import { download } from "./dom.js";
import { Feed } from "./feed.js";
import { Archive } from "./har.js";
import { beginHold } from "./hold.js";
import { listenForKeys, showKeys } from "./keys.js";
import { List } from "./list.js";
import { localFilter, spelled } from "./localfilter.js";
import { attempt, notify, stand } from "./notice.js";
import { applyTheme, toggleTheme } from "./theme.js";
import { Toolbar } from "./toolbar.js";

const place = (id) => document.getElementById(id);
const fileMax = 512 * 1024 * 1024;
const exportMax = 100_000;

class Page {
  constructor() {
    this.source = api;
    this.feed = new Feed({
      onchange: (change) => this.#fed(change),
      onproblem: (error) => stand(error === undefined ? "" : error.message),
    });
    this.actions = new Actions({
      open: (id) => this.open(id),
      refresh: () => this.detail.refresh(),
      rulesChanged: () => {
        this.book = undefined;
      },
      marked: (id, isMarked) => {
        const row = this.feed.rows.find(id);
        if (row !== undefined) row.mark = isMarked;
        this.show();
      },
    });
    const calls = this.#calls();
    this.toolbar = new Toolbar(place("bar"), calls);
    this.list = new List(place("list"), {
      onopen: (row) => row !== undefined && this.open(row.id),
      onselect: (row) => this.detail.isOpen && this.#isWide && this.open(row.id),
      onend: () => this.source === api && this.feed.older(),
    });
    this.detail = new Detail(place("detail"), {
      actions: (context) => this.actions.buttons(context),
      onclose: () => this.back(),
      ontab: () => this.#route(true),
      rulebook: () => this.#rulebook(),
    });
    this.board = new Dashboard(place("board"), {
      rows: () => this.rows,
      status: () => (this.source === api ? api.status() : undefined),
      onfilter: (text) => {
        this.back();
        this.toolbar.filter = text;
        this.filter(text);
      },
      onclose: () => this.back(),
    });
    listenForKeys(calls);
    this.#listenForFiles();
    addEventListener("popstate", () => this.#routed());
  }

  get #isWide() {
    return matchMedia("(min-width: 761px)").matches;
  }

  /** The rows of the source, the oldest first. */
  get rows() {
    return this.source === api ? this.feed.rows.all : this.source.rows;
  }

  async start() {
    let words;
    try {
      words = await beginSession();
    } catch (error) {
      stand(error.message);
      return;
    }
    if (!hasToken()) {
      stand("This page has no access to lupin. Run `lupin inspect`; HAR files can be opened here.");
      this.show();
      return;
    }
    attempt(() => beginHold(words.get("hold")));
    const archive = words.get("archive");
    if (archive !== null && /^\w+$/.test(archive)) {
      const value = await attempt(() => api.archive(archive));
      this.number = archive;
      if (value !== undefined) this.openArchive(value, `archive ${archive}`);
    } else {
      await this.filter("");
    }
    this.#routed();
    this.list.view.focus();
  }

  async filter(text) {
    try {
      if (this.source === api) await this.feed.start(spelled(text));
      else this.keeps = localFilter(text);
      this.toolbar.judged(text);
    } catch (error) {
      // Anything but a wrong filter is about lupin, not about the text.
      if (error.status === undefined || error.status === 400) this.toolbar.judged(text, error.message);
      else stand(error.message);
      return;
    }
    this.list.top();
    this.show();
  }

  #fed({ added, isNew }) {
    if (this.source !== api) return;
    if (isNew) this.list.top();
    this.show(added);
  }

  show(added = 0) {
    const isLive = this.source === api;
    let rows = this.rows;
    if (!isLive && this.keeps !== undefined) rows = rows.filter(this.keeps);
    const live = isLive && this.feed.isFollowing ? this.feed.live : [];
    const note = !isLive || this.toolbar.filter !== "" ? "No exchange fits."
      : "No exchange yet. Send one through lupin; it shows here.";
    this.list.show(rows, live, { isNewestFirst: isLive, added, note });
    this.toolbar.show({
      isFollowing: this.feed.isFollowing, count: rows.length,
      live: live.length, dropped: isLive ? this.feed.rows.dropped : 0,
      archive: isLive ? undefined : this.source.name,
    });
  }

  follow() {
    if (this.source !== api) return;
    this.feed.follow(!this.feed.isFollowing);
    if (this.feed.isFollowing) this.list.top();
    this.show();
  }

  open(id) {
    const row = this.feed.rows.find(id);
    this.#screen("detail");
    this.list.select(id, row !== undefined);
    this.detail.open(this.source, id, {
      makeRule: (kind) => this.actions.rule(this.detail.context, kind),
      again: () => this.actions.again(this.detail.context),
    });
    this.#route(this.hadDetail === true);
    this.hadDetail = true;
  }

  dashboard() {
    if (this.board.isOpen) {
      this.back();
      return;
    }
    this.#screen("board");
    this.board.open();
    this.#route();
  }

  back() {
    this.#screen("list");
    this.#route();
    this.list.view.focus();
  }

  #screen(name) {
    document.body.dataset.screen = name;
    if (name !== "detail") {
      this.detail.close();
      this.hadDetail = false;
    }
    if (name !== "board") this.board.close();
    place("list").hidden = name === "board";
  }

  // The address says what is open, so that the browser's Back leads to the list.
  #route(isReplacing = false) {
    const words = new URLSearchParams();
    if (this.source !== api && this.number !== undefined) words.set("archive", this.number);
    if (this.detail.id !== undefined) {
      words.set("exchange", this.detail.id);
      words.set("tab", this.detail.tab);
    }
    if (this.board.isOpen) words.set("dashboard", "");
    const hash = words.size > 0 ? `#${words}` : "";
    if (hash === location.hash) return;
    const address = location.pathname + hash;
    if (isReplacing) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  }

  #routed() {
    const words = new URLSearchParams(location.hash.slice(1));
    const id = words.get("exchange");
    const tab = words.get("tab");
    if (/^[a-z]+$/.test(tab ?? "")) this.detail.choose(tab);
    if (id !== null && id !== this.detail.id) {
      this.hadDetail = true;
      this.open(id);
    } else if (words.has("dashboard")) {
      if (!this.board.isOpen) this.dashboard();
    } else if (id === null && document.body.dataset.screen !== "list") {
      this.#screen("list");
    }
  }

  #rulebook() {
    this.book ??= this.source === api ? api.rules().catch(() => ({})) : Promise.resolve({});
    return this.book;
  }

  openArchive(value, name) {
    try {
      const archive = new Archive(value, name);
      this.feed.follow(false);
      this.source = archive;
    } catch (error) {
      notify(error.message, true);
      return;
    }
    this.book = undefined;
    this.toolbar.filter = "";
    this.#screen("list");
    this.filter("");
  }

  async openFile(file) {
    if (file.size > fileMax) {
      notify("The file is larger than 512 MiB.", true);
      return;
    }
    try {
      this.number = undefined;
      this.openArchive(JSON.parse(await file.text()), file.name);
    } catch {
      notify("The file is no HAR: it is not JSON.", true);
    }
  }

  leaveArchive() {
    this.source = api;
    this.book = undefined;
    this.toolbar.filter = "";
    this.#screen("list");
    this.feed.isFollowing = true;
    if (hasToken()) this.filter("");
    else this.show();
  }

  #listenForFiles() {
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) this.openFile(file);
    });
  }

  export() {
    if (this.source !== api) return;
    attempt(async () => {
      notify("The file is being made…");
      const blob = await api.har(spelled(this.toolbar.sent ?? ""), exportMax);
      download(`lupin-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.har`, blob);
    });
  }

  /** Asks which captures are to be deleted; the list begins anew behind that. */
  remove() {
    if (this.source !== api) return false;
    const detail = this.detail.context?.detail ?? {};
    const isCaptured = detail.record !== undefined
      && (detail.bodies !== undefined || detail.messages > 0);
    openDeletion({
      id: isCaptured ? this.detail.id : undefined,
      filter: spelled(this.toolbar.sent ?? ""),
      done: () => {
        this.filter(this.toolbar.sent ?? "");
        if (this.detail.isOpen) this.detail.refresh();
      },
    });
    return true;
  }

  // Runs an action on the open exchange; on the chosen row, after opening it.
  #withContext(action) {
    if (this.detail.context !== undefined) action(this.detail.context);
    else if (this.list.row !== undefined) this.open(this.list.row.id);
    return true;
  }

  // What the bar and the keys can do, by the names of keys.js.
  #calls() {
    const inList = (action) => () => (this.board.isOpen ? false : action());
    const move = (by) => inList(() => this.list.move(by()));
    const inDetail = (action) => (value) => (this.detail.isOpen ? action(value) : false);
    const act = (name, ...rest) => () =>
      this.#withContext((context) => this.actions[name](context, ...rest));
    const actLive = (name) => () => (this.source === api && this.#withContext((context) =>
      context.detail.record !== undefined && this.actions[name](context)));
    return {
      search: (text) => this.filter(text),
      toList: () => this.list.view.focus(),
      file: (file) => this.openFile(file),
      leave: () => this.leaveArchive(),
      capture: () => this.actions.capture(),
      remove: () => this.remove(),
      redraw: () => this.list.setColumns(),
      next: move(() => 1),
      previous: move(() => -1),
      pageDown: move(() => this.list.page),
      pageUp: move(() => -this.list.page),
      first: move(() => -this.list.count),
      last: move(() => this.list.count),
      open: inList(() => this.list.row !== undefined && this.open(this.list.row.id)),
      back: () => this.back(),
      filter: () => this.toolbar.input.select(),
      follow: () => this.follow(),
      nextTab: inDetail(() => this.detail.choose(1)),
      previousTab: inDetail(() => this.detail.choose(-1)),
      tab: inDetail((number) => this.detail.chooseAt(number)),
      curl: act("copyAs", "curl"),
      python: act("copyAs", "python"),
      node: act("copyAs", "node"),
      compare: act("compare"),
      again: actLive("again"),
      edit: actLive("edit"),
      rule: actLive("rule"),
      mark: actLive("mark"),
      comment: actLive("comment"),
      cut: () => (this.list.row?.live ? this.actions.cut(this.list.row.id) : false),
      dashboard: () => this.dashboard(),
      export: () => this.export(),
      openFile: () => this.toolbar.file.click(),
      columns: () => this.toolbar.chooseColumns(),
      theme: toggleTheme,
      help: showKeys,
    };
  }
}

applyTheme();
const page = new Page();
page.start();
