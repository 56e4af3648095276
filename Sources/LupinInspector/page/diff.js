// Decides what differs between two lists of fields, or two texts, within bounded time.

/**
 * Compares fields by name, in the order of both: `{kind, name, before, after}` with the kinds
 * `same`, `changed`, `removed` and `added`.
 */
export function fieldChanges(before, after) {
  const groups = new Map();
  const put = (list, side) => {
    for (const [name, value] of list) {
      const key = String(name).toLowerCase();
      if (!groups.has(key)) groups.set(key, { before: [], after: [] });
      groups.get(key)[side].push([String(name), String(value)]);
    }
  };
  put(before, "before");
  put(after, "after");
  const changes = [];
  for (const group of groups.values()) {
    const left = [...group.after];
    const alone = [];
    for (const [name, value] of group.before) {
      const place = left.findIndex((other) => other[1] === value);
      if (place < 0) {
        alone.push([name, value]);
        continue;
      }
      left.splice(place, 1);
      changes.push({ kind: "same", name, before: value, after: value });
    }
    for (const [name, value] of alone) {
      const other = left.shift();
      const kind = other === undefined ? "removed" : "changed";
      changes.push({ kind, name, before: value, after: other?.[1] });
    }
    for (const [name, value] of left) {
      changes.push({ kind: "added", name, before: undefined, after: value });
    }
  }
  return changes;
}

const linesMax = 20_000;
const cellsMax = 4_000_000;

/**
 * Compares lines: `{kind, before, after}`. Texts that differ in too many places are paired line by
 * line, since the exact answer takes quadratic time.
 */
export function lineChanges(textBefore, textAfter) {
  const a = textBefore.split("\n", linesMax);
  const b = textAfter.split("\n", linesMax);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start
    && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middleA = a.slice(start, a.length - end);
  const middleB = b.slice(start, b.length - end);
  const same = (line) => ({ kind: "same", before: line, after: line });
  return [
    ...a.slice(0, start).map(same),
    ...middle(middleA, middleB),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a, b) {
  if (a.length * b.length > cellsMax) return paired(a, b);
  const width = b.length + 1;
  // The length of the longest common part behind each pair of places.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const changes = [];
  let [i, j] = [0, 0];
  let removed = [];
  let added = [];
  const flush = () => {
    changes.push(...paired(removed, added));
    removed = [];
    added = [];
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      changes.push({ kind: "same", before: a[i], after: b[j] });
      i += 1;
      j += 1;
    } else if (j >= b.length
      || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      removed.push(a[i++]);
    } else {
      added.push(b[j++]);
    }
  }
  flush();
  return changes;
}

function paired(removed, added) {
  const changes = [];
  for (let i = 0; i < Math.max(removed.length, added.length); i += 1) {
    const [before, after] = [removed[i], added[i]];
    if (before === after) changes.push({ kind: "same", before, after });
    else if (after === undefined) changes.push({ kind: "removed", before, after });
    else if (before === undefined) changes.push({ kind: "added", before, after });
    else changes.push({ kind: "changed", before, after });
  }
  return changes;
}

/** Leaves out the middle of long stretches without a change. */
export function folded(changes, context = 3) {
  const kept = new Uint8Array(changes.length);
  for (const [i, change] of changes.entries()) {
    if (change.kind === "same") continue;
    for (let j = Math.max(0, i - context); j <= Math.min(changes.length - 1, i + context); j += 1) {
      kept[j] = 1;
    }
  }
  const result = [];
  let skipped = 0;
  for (const [i, change] of changes.entries()) {
    if (kept[i] === 1) {
      if (skipped > 0) result.push({ kind: "gap", count: skipped });
      skipped = 0;
      result.push(change);
    } else {
      skipped += 1;
    }
  }
  if (skipped > 0) result.push({ kind: "gap", count: skipped });
  return result;
}
