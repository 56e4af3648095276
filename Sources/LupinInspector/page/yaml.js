// Decides how values are written in YAML and patterns, so that they mean exactly themselves.

/** A text in YAML: plain where that is safe, else in double quotes. */
export function quoted(text) {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(text)
    && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text);
  if (isPlain) return text;
  // JSON's escapes are YAML's; what is not ASCII is escaped, so that nothing hides in the file.
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) =>
    `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A value of a step, in which `${…}` and `$$` would mean something. */
export function stepValue(text) {
  return quoted(text.replaceAll("$", "$$$$"));
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** A pattern that matches this path alone. */
export function exactPath(path) {
  const mayMeanMore = /[*?[\]{}!,\\]/.test(path) || (path.length > 1 && /^\/.*\/i?$/.test(path));
  return quoted(mayMeanMore ? `/^${escaped(path)}$/` : path);
}
