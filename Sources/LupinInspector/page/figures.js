// Decides what the dashboard counts: rates, quantiles and shares of the rows that the page holds.

const binsCount = 60;

/** The value below which a share of sorted numbers lies. */
function quantile(sorted, share) {
  if (sorted.length === 0) return undefined;
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

function isError(row) {
  return row.outcome === "error" || row.outcome === "truncated" || row.status >= 500;
}

/** The figures of the rows of a span that ends at `end`; times are in ms. */
export function figures(rows, end, span) {
  const start = end - span;
  const width = span / binsCount;
  const bins = Array.from({ length: binsCount }, (_, i) => ({ at: start + i * width, count: 0,
    errors: 0, hits: 0, asked: 0, durations: [] }));
  const hosts = new Map();
  const all = { count: 0, errors: 0, hits: 0, asked: 0, saved: 0, bytes: 0, durations: [] };
  for (const row of rows) {
    if (row.at < start || row.at >= end) continue;
    const bin = bins[Math.min(binsCount - 1, Math.floor((row.at - start) / width))];
    const host = hosts.get(row.host)
      ?? { count: 0, errors: 0, hits: 0, asked: 0, durations: [] };
    hosts.set(row.host, host);
    for (const sum of [all, bin, host]) {
      sum.count += 1;
      if (isError(row)) sum.errors += 1;
      if (row.cache !== "") {
        sum.asked += 1;
        if (row.cache.includes("hit")) sum.hits += 1;
      }
      if (row.duration >= 0 && row.mode !== "tunnel" && row.mode !== "upgrade") {
        sum.durations.push(row.duration);
      }
    }
    if (row.saved) all.saved += 1;
    all.bytes += row.size ?? 0;
  }
  return { all: settled(all), bins: bins.map(settled), width,
    hosts: [...hosts].map(([name, sum]) => ({ name, ...settled(sum) }))
      .sort((a, b) => b.count - a.count).slice(0, 10) };
}

function settled({ durations, ...sum }) {
  const sorted = Float64Array.from(durations).sort();
  return { ...sum, p50: quantile(sorted, 0.5), p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99) };
}
