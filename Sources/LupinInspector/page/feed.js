// Decides which rows the list has: it follows lupin, pages to older ones, and applies the filter.

import { api } from "./api.js";
import { localFilter } from "./localfilter.js";
import { liveRowOf, rowOf, Rows, rowsMax } from "./rows.js";

const pollMs = 1000;
const firstCount = 1000;
const pageCount = 2000;

/** The rows of the running lupin. `onchange({added})` is called after each change. */
export class Feed {
  constructor({ onchange, onproblem }) {
    this.calls = { onchange, onproblem };
    this.rows = new Rows();
    this.live = [];
    this.filter = "";
    this.isFollowing = true;
    this.isComplete = false;
    this.isPaging = false;
    this.round = 0;
  }

  /** Begins anew with another filter. Throws where lupin refuses it. */
  async start(filter) {
    const round = (this.round += 1);
    clearTimeout(this.timer);
    const { records, last } = await api.latest({ filter, limit: firstCount });
    if (round !== this.round) return;
    this.filter = filter;
    this.last = last;
    this.rows.clear();
    this.rows.push(records.map(rowOf));
    this.isComplete = records.length < firstCount;
    // A filter of bodies or of anything else that a row lacks keeps no exchange under way.
    try {
      this.keepsLive = localFilter(filter);
    } catch {
      this.keepsLive = () => false;
    }
    this.calls.onchange({ added: 0, isNew: true });
    this.#poll(round);
  }

  follow(isFollowing) {
    this.isFollowing = isFollowing;
    if (isFollowing) this.#poll(this.round);
    else clearTimeout(this.timer);
  }

  #poll(round) {
    clearTimeout(this.timer);
    if (!this.isFollowing || round !== this.round) return;
    this.timer = setTimeout(() => this.#ask(round), document.hidden ? 5 * pollMs : pollMs);
  }

  async #ask(round) {
    try {
      const query = { filter: this.filter, after: this.last, limit: rowsMax };
      const [found, live] = await Promise.all([api.latest(query), api.live()]);
      if (round !== this.round || !this.isFollowing) return;
      this.last = found.last ?? this.last;
      const added = this.rows.push(found.records.map(rowOf));
      const hadLive = this.live.length > 0;
      this.live = live.map(liveRowOf).filter((row) => this.keepsLive(row))
        .sort((a, b) => b.at - a.at).slice(0, 200);
      if (added > 0 || hadLive || this.live.length > 0) this.calls.onchange({ added });
      this.calls.onproblem(undefined);
    } catch (error) {
      if (round === this.round) this.calls.onproblem(error);
    }
    this.#poll(round);
  }

  /** Fetches older ones; the list asks when its end comes near. */
  async older() {
    const oldest = this.rows.oldest;
    if (this.isComplete || this.isPaging || oldest === undefined) return;
    // The oldest were dropped for newer ones; fetching them again would never end.
    if (this.rows.dropped > 0 || this.rows.all.length >= rowsMax) return;
    const round = this.round;
    this.isPaging = true;
    try {
      const query = { filter: this.filter, before: oldest.id, limit: pageCount };
      const found = await api.older(query);
      if (round !== this.round) return;
      const added = this.rows.unshift(found.map(rowOf));
      if (added === 0) this.isComplete = true;
      this.calls.onchange({ added: 0 });
    } catch (error) {
      this.isComplete = true;
      this.calls.onproblem(error);
    } finally {
      this.isPaging = false;
    }
  }
}
