// Decides what the columns of the list show, and which of them a person chose.

import { clock, duration, shown, size } from "./text.js";

const key = "lupin.columns";

/** How a status reads at a glance. */
export function tone(row) {
  if (row.live) return "live";
  if (row.outcome === "error" || row.outcome === "truncated") return "bad";
  if (row.outcome === "denied" || row.outcome === "aborted") return "odd";
  if (row.status >= 500) return "bad";
  if (row.status >= 400) return "odd";
  if (row.status >= 300) return "moved";
  return "good";
}

function statusOf(row) {
  if (row.live) return "…";
  if (row.status !== undefined) {
    return row.outcome === "ok" ? String(row.status) : `${row.status} ${row.outcome}`;
  }
  return row.outcome;
}

/** `value` is the text of a row. */
export const columns = [
  { key: "time", title: "Time", width: "92px", value: (row) => clock(row.at) },
  { key: "method", title: "Method", width: "68px", value: (row) => shown(row.method) },
  { key: "status", title: "Status", width: "88px", value: statusOf },
  { key: "host", title: "Host", width: "minmax(110px, 1fr)", value: (row) => shown(row.host) },
  { key: "path", title: "Path", width: "minmax(140px, 2fr)",
    value: (row) => shown(row.path.slice(0, 300)) },
  { key: "duration", title: "Duration", width: "78px", isNumber: true,
    value: (row) => duration(row.duration) },
  { key: "size", title: "Size", width: "72px", isNumber: true,
    value: (row) => size(row.size) },
  { key: "rule", title: "Rule", width: "minmax(70px, 0.7fr)", value: (row) => shown(row.rules) },
  { key: "cache", title: "Cache", width: "88px", value: (row) => shown(row.cache) },
  { key: "program", title: "Program", width: "84px", value: (row) => shown(row.program) },
  { key: "attempts", title: "Tries", width: "46px", isNumber: true,
    value: (row) => (row.attempts > 0 ? String(row.attempts) : "") },
  { key: "type", title: "Type", width: "minmax(70px, 0.6fr)", value: (row) => shown(row.type) },
];

const usual = ["time", "method", "status", "host", "path", "duration", "size", "rule", "cache",
  "attempts"];

/** The chosen columns, in their order. */
export function chosenColumns() {
  let names = usual;
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "null");
    if (Array.isArray(kept) && kept.length > 0) names = kept;
  } catch {
    // What another program wrote there is left alone.
  }
  const found = columns.filter((column) => names.includes(column.key));
  return found.length > 0 ? found : columns.filter((column) => usual.includes(column.key));
}

export function chooseColumns(names) {
  localStorage.setItem(key, JSON.stringify(names));
}

/** The width of the columns, as CSS has it. */
export function template(list) {
  return ["14px", ...list.map((column) => column.width)].join(" ");
}
