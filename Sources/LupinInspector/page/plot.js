// Decides how numbers over time are drawn: bars and lines in SVG, with a scale.

import { el, svg } from "./dom.js";

// A narrow window gets a narrow picture, so that its text stays readable.
const size = { width: 600, height: 150, left: 48, right: 8, top: 8, bottom: 20 };
const inner = {
  get width() { return size.width - size.left - size.right; },
  height: size.height - size.top - size.bottom,
};

// The next round number, so that the scale is easy to read.
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function frame(top, format, times, label) {
  const lines = [0, 0.5, 1].map((part) => {
    const y = size.top + inner.height * (1 - part);
    return [svg("line.grid", { x1: size.left, x2: size.width - size.right, y1: y, y2: y }),
      svg("text.tick", { x: size.left - 5, y: y + 4, "text-anchor": "end",
        text: format(top * part) })];
  });
  const marks = [[0, "start"], [0.5, "middle"], [1, "end"]].map(([part, anchor]) =>
    svg("text.tick", { x: size.left + inner.width * part, y: size.height - 4,
      "text-anchor": anchor, text: times(part) }));
  return svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
    "aria-label": label, class: "plot" }, lines, marks);
}

const place = (i, count) => size.left + (i / count) * inner.width;
const level = (value, top) => size.top + inner.height * (1 - Math.min(1, value / top));

function legend(series) {
  return el("p.legend", series.map(({ name, tone }) =>
    el("span", el("i", { class: `plot-${tone}`, "aria-hidden": "true" }), name)));
}

/**
 * Draws series of numbers. `series` are `{name, tone, values, isBar}`; `format` writes a value,
 * `times(part)` the time at a part of the width.
 */
export function plot(title, series, { format, times, note = "", top }) {
  size.width = Math.max(280, Math.min(600, innerWidth - 70));
  const numbers = series.flatMap((one) => one.values.filter((value) => value !== undefined));
  const scale = top ?? roundUp(Math.max(0, ...numbers));
  const label = `${title}. ${note}`;
  const image = frame(scale, format, times, label);
  for (const { values, tone, isBar } of series) {
    const count = values.length;
    if (isBar) {
      values.forEach((value, i) => {
        if (!(value > 0)) return;
        const y = level(value, scale);
        image.append(svg("rect", { class: `plot-${tone}`, x: place(i, count) + 0.5, y,
          width: inner.width / count - 1, height: size.top + inner.height - y }));
      });
    } else {
      image.append(svg("path", { class: `line plot-${tone}`, d: path(values, scale) }));
    }
  }
  return el("figure.panel", el("figcaption", el("strong", title),
    note !== "" && el("small", note)), image, legend(series));
}

// A gap where there is no value, and a short stroke where a value stands alone.
function path(values, scale) {
  let text = "";
  values.forEach((value, i) => {
    if (value === undefined) return;
    const x = place(i + 0.5, values.length).toFixed(1);
    const y = level(value, scale).toFixed(1);
    const isFirst = values[i - 1] === undefined;
    text += `${isFirst ? "M" : "L"}${x} ${y}`;
    if (isFirst && values[i + 1] === undefined) text += "h3";
  });
  return text;
}
