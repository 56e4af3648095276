// Decides how elements are made: never from markup, and never with an address from a capture.

// These attributes can run code or load something; `address` sets the two that the page needs.
const refused = /^(on|href|src|srcdoc|style|action|formaction|data$|xlink)/i;

/**
 * Makes an element: `tag` may have classes, as in `p.told`. `props` holds attributes, and functions
 * under `on…` become listeners; they may be left out. Children are nodes, texts, lists of them, or
 * nothing.
 */
export function el(tag, ...parts) {
  return made(tag, (name) => document.createElement(name), parts);
}

/** Makes an element of SVG. */
export function svg(tag, ...parts) {
  return made(tag, (name) => document.createElementNS("http://www.w3.org/2000/svg", name), parts);
}

function made(tag, create, parts) {
  const [name, ...classes] = tag.split(".");
  const node = create(name);
  if (classes.length > 0) node.setAttribute("class", classes.join(" "));
  const [first, ...rest] = parts;
  if (Object.getPrototypeOf(first ?? 0) !== Object.prototype) add(node, parts);
  else {
    apply(node, first);
    add(node, rest);
  }
  return node;
}

function apply(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (refused.test(name)) throw new Error(`the attribute ${name} is not set like this`);
    else node.setAttribute(name, value === true ? "" : value);
  }
}

function add(node, children) {
  for (const child of children.flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** Points an image, frame or link to bytes of a type that the page chose. */
export function address(node, name, blob) {
  const url = URL.createObjectURL(blob);
  node[name] = url;
  // An element that left the page needs its bytes no longer; the time covers the loading.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return node;
}

/** A button with a text. */
export function button(text, onclick, props = {}) {
  return el("button", { type: "button", onclick, ...props }, text);
}

/** A label around a control. */
export function labelled(text, control, props = {}) {
  return el("label.field", { ...props }, el("span", { text }), control);
}

/** A select of `[value, text]` pairs. */
export function choice(pairs, onchange, props = {}) {
  const options = pairs.map(([value, text]) => el("option", { value, text }));
  return el("select", { onchange, ...props }, options);
}

/** Offers bytes as a download. */
export function download(name, blob) {
  const link = address(el("a"), "href", blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** A note in plain words, where something can't be shown. */
export function remark(text, ...children) {
  return el("p.remark", text, children);
}

/** A table of name and value, for what has no order of its own. */
export function facts(pairs) {
  const rows = pairs.filter(([, value]) => value !== undefined && value !== "");
  return el("dl.facts", rows.map(([name, value]) => [el("dt", name), el("dd", value)]),
  );
}
