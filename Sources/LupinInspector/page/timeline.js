// Decides where each bar of the waterfall stands: attempts follow one another, hedges run beside.

import { el, facts, remark } from "./dom.js";
import { at, duration, listOf, shown } from "./text.js";

const stages = [["blocked", "in lupin"], ["dns", "DNS"], ["tcp", "connect"], ["tls", "TLS"],
  ["send", "send"], ["wait", "wait"], ["receive", "receive"]];
const attemptsMax = 100;

// No exchange takes years; a larger number is a broken record.
const positive = (value) => (value > 0 && value < 1e11 ? value : 0);

function barsOf(timing, start, tokenWait, drawn = 0) {
  const bars = [];
  let now = start;
  const put = (stage, name, time) => {
    if (time <= 0) return;
    bars.push({ stage, name, start: now, time });
    now += time;
  };
  for (const [stage, name] of stages) {
    const time = positive(at(timing, stage)) - (stage === "blocked" ? drawn : 0);
    if (stage !== "blocked") {
      put(stage, name, time);
      continue;
    }
    // What was waited for a credential is a part of the time in lupin.
    const token = Math.min(tokenWait, time || tokenWait);
    put("token", "token", token);
    put("blocked", name, time - token);
  }
  return bars;
}

/** The rows of the waterfall: `{title, note, tone, bars}`, in ms since the exchange began. */
function waterfall(record) {
  const rows = [];
  let now = 0;
  let former = 0;
  // What the next attempt was kept waiting, which is a part of its time in lupin.
  let pause = 0;
  const tokenWait = positive(at(record, "auth", "wait"));
  const attempts = listOf(record.attempts).slice(0, attemptsMax);
  for (const [i, attempt] of attempts.entries()) {
    const why = String(at(attempt, "why") ?? "first");
    // An older lupin does not tell when it began: a hedge stands beside the attempt before.
    const begun = at(attempt, "start");
    const isKnown = begun >= 0 && begun < 1e11;
    let start = isKnown ? begun : why === "hedge" ? former : now;
    let drawn = 0;
    if (why !== "hedge") {
      drawn = Math.min(pause, positive(at(attempt, "timing", "blocked")));
      if (isKnown) start += drawn;
      pause = 0;
    }
    const bars = barsOf(at(attempt, "timing"), start, i === 0 ? tokenWait : 0, drawn);
    const whole = positive(at(attempt, "timing", "total"));
    const end = Math.max(start + whole, bars.length > 0 ? lastEnd(bars) : start);
    rows.push({ title: `${i + 1} ${why}`, note: result(attempt), bars,
      tone: at(attempt, "error") !== undefined || at(attempt, "status") >= 500 ? "bad" : "" });
    former = start;
    now = Math.max(now, end);
    const delay = positive(at(attempt, "delay"));
    if (delay > 0) {
      rows.push({ title: "", note: "wait before the next", tone: "",
        bars: [{ stage: "pause", name: "backoff", start: now, time: delay }] });
      now += delay;
      pause = delay;
    }
  }
  if (attempts.length === 0) {
    const bars = barsOf(record.timing, 0, tokenWait);
    if (bars.length > 0) rows.push({ title: "lupin", note: "", bars, tone: "" });
  }
  return rows;
}

const lastEnd = (bars) => bars.at(-1).start + bars.at(-1).time;

function result(attempt) {
  const status = at(attempt, "status");
  return shown(status ?? at(attempt, "error", "type") ?? "");
}

/** The tab Timeline. */
export function timelineTab({ detail }) {
  const record = detail.record ?? {};
  const rows = waterfall(record);
  const total = positive(at(record, "timing", "total"));
  const ends = rows.flatMap((row) => row.bars).map((bar) => bar.start + bar.time);
  const scale = Math.max(total, ...ends, 0);
  if (rows.length === 0 || scale === 0) return remark("There are no times on record.");
  return el("div", legend(rows),
    el("div.waterfall", { role: "list", "aria-label": "Attempts" },
      axis(scale), rows.map((row) => waterfallRow(row, scale))),
    el("h3", "Attempts"),
    attemptTable(listOf(record.attempts).slice(0, attemptsMax)),
  );
}

function legend(rows) {
  const used = new Map(rows.flatMap((row) => row.bars).map((bar) => [bar.stage, bar.name]));
  return el("p.legend", [...used].map(([stage, name]) =>
    el("span", el("i", { class: `stage-${stage}`, "aria-hidden": "true" }), name)));
}

function axis(scale) {
  const line = el("div.axis", { "aria-hidden": "true" });
  for (let i = 0; i <= 4; i += 1) {
    const tick = el("span", i === 0 ? "0" : duration((scale * i) / 4));
    tick.style.left = `${i * 25}%`;
    line.append(tick);
  }
  return el("div.lane", el("span"), line);
}

function waterfallRow(row, scale) {
  const track = el("div.track");
  for (const bar of row.bars) {
    const node = el("i", { class: `stage-${bar.stage}`,
      title: `${bar.name}: ${duration(bar.time)}, from ${bar.start > 0 ? duration(bar.start) : 0}` });
    node.style.left = `${(bar.start / scale) * 100}%`;
    node.style.width = `${Math.max(0.15, (bar.time / scale) * 100)}%`;
    track.append(node);
  }
  const words = row.bars.map((bar) => `${bar.name} ${duration(bar.time)}`).join(", ");
  return el(
    "div",
    { class: `lane ${row.tone}`, role: "listitem",
      "aria-label": `${row.title} ${row.note}: ${words}` },
    el("span.lanetitle", row.title, el("small", ` ${row.note}`)),
    track,
  );
}

function attemptTable(attempts) {
  const cards = attempts.map((one, i) => {
    const error = at(one, "error");
    const times = stages.map(([stage, name]) => [name, positive(at(one, "timing", stage))])
      .filter(([, time]) => time > 0).map(([name, time]) => `${name} ${duration(time)}`);
    return el("section.attempt", el("h4", {
      text: `${i + 1} ${shown(at(one, "why") ?? "first")}`,
    }), facts([
      ["status", shown(at(one, "status"))],
      ["error", error === undefined ? "" : [at(error, "type"), at(error, "detail")]
        .filter(Boolean).map(shown).join(": ")],
      ["to", shown(at(one, "url"))],
      ["peer", shown(at(one, "peer"))],
      ["connection", [at(one, "reused") === true ? "from the pool" : "", protocol(one),
        tlsName(at(one, "tls"))].filter(Boolean).join(", ")],
      ["reset", [at(one, "reset"), at(one, "goaway")].filter(Boolean).map(shown).join(", ")],
      ["then", [at(one, "decision"), at(one, "reason")].filter(Boolean).map(shown).join(": ")],
      ["next after", duration(at(one, "delay") ?? NaN)],
      ["times", times.join(", ")],
    ]));
  });
  return cards.length === 0 ? remark("Nothing went to an origin.")
    : el("div.attempts", cards);
}

function tlsName(version) {
  return version === undefined ? "" : shown(version).replace(/^(?=\d)/, "TLS ");
}

function protocol(attempt) {
  const version = at(attempt, "protocol");
  if (version === undefined) return "";
  const stream = at(attempt, "stream");
  return `HTTP/${shown(version)}${stream === undefined ? "" : `, stream ${shown(stream)}`}`;
}
