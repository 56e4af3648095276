// Decides how values read: units, times, and characters that would not be seen.

// Controls, bidirectional marks and other characters without a shape of their own, so that a name
// can't look like another one.
const hidden = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
    "\\u200b-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0" +
    "\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]",
  "gu",
);
const hiddenInLines = new RegExp(hidden.source.replace("\\u0000-\\u001f",
  "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f"), "gu");

function escape(found) {
  return `\\u{${found.codePointAt(0).toString(16)}}`;
}

/** A name, value or address in one line; hidden characters are escaped. */
export function shown(text) {
  return String(text ?? "").replace(hidden, escape);
}

/** A text of several lines; line ends and tabs stay. */
export function shownLines(text) {
  return text.replace(hiddenInLines, escape).replace(/\r\n?/g, "\n");
}

/** The beginning of a text. */
export function short(text, length = 80) {
  const all = shown(text);
  return all.length > length ? `${all.slice(0, length - 1)}…` : all;
}

export function duration(ms) {
  if (!Number.isFinite(ms)) return "";
  if (ms > 0 && ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms > 0 && ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  const rest = Math.floor((ms % 60_000) / 1000);
  if (minutes < 60) return rest > 0 ? `${minutes} min ${rest} s` : `${minutes} min`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} days`;
}

export function size(bytes) {
  if (!Number.isFinite(bytes)) return "";
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  for (const unit of ["KiB", "MiB", "GiB"]) {
    value /= 1024;
    if (value < 1024 || unit === "GiB") return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  }
  return "";
}

const pad = (number, width = 2) => String(number).padStart(width, "0");

/** The time of day, with milliseconds. */
export function clock(ms) {
  if (!Number.isFinite(ms)) return "";
  const date = new Date(ms);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return `${time}.${pad(date.getMilliseconds(), 3)}`;
}

export function day(ms) {
  if (!Number.isFinite(ms)) return "";
  const date = new Date(ms);
  const text = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${text} ${clock(ms)}`;
}

/** A count with its noun. */
export function counted(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** A member of an object by path, whatever stands on the way. */
export function at(value, ...path) {
  let now = value;
  for (const name of path) {
    if (now === null || typeof now !== "object" || !Object.hasOwn(now, name)) return undefined;
    now = now[name];
  }
  return now;
}

/** The values of a field, by its name in lower case. */
export function valuesOf(head, name) {
  const fields = Array.isArray(head?.fields) ? head.fields : [];
  return fields.filter((field) => String(field[0]).toLowerCase() === name)
    .map((field) => String(field[1]));
}

/** Elements of a list, or nothing where a capture has something else. */
export function listOf(value) {
  return Array.isArray(value) ? value : [];
}
