// Decides what the tab Body shows of each captured side, and how capture is turned on.

import { bodyView, copyBody, formOf, forms } from "./bodyview.js";
import { button, choice, download, el, fill, remark } from "./dom.js";
import { hostsOf } from "./hold.js";
import { messagesView } from "./messages.js";
import { attempt, notify } from "./notice.js";
import { charsets } from "./plainviews.js";
import { isPage } from "./preview.js";
import { at, listOf, shown, size, valuesOf } from "./text.js";

// More than that is fetched only on demand.
const loadMax = 8 * 1024 * 1024;

const sides = {
  request: "Request, as the client sent it",
  sent: "Request, as the rules sent it on",
  received: "Response, as the origin sent it",
  response: "Response, as the client got it",
};

const losses = {
  limit: "The end is missing: only the beginning of a body is kept (capture.bodies).",
  writer: "The end is missing: the disk was slower than the exchange.",
  coding: "The end is missing: the coding of the body is broken.",
  mask: "The end is missing: lupin could not hide a secret in it.",
  end: "The end is missing: the exchange ended before the body did.",
};

/** The tab Body. */
export async function bodyTab(context) {
  const { detail, source } = context;
  const bodies = listOf(detail.bodies);
  const parts = [];
  if (detail.bodies === undefined && !(detail.messages > 0)) parts.push(uncaptured(context));
  else if (bodies.length === 0 && !(detail.messages > 0)) {
    parts.push(remark("It is captured, and neither side had a body."));
  }
  if (detail.messages > 0) parts.push(messagesView(source, context.id, detail.messages));
  for (const body of bodies) parts.push(bodySection(body, context));
  return el("div", parts);
}

function uncaptured({ source, detail, refresh }) {
  if (source.isReadOnly) return remark("The file has no bodies of this exchange.");
  const http = detail.record?.http;
  const size = (http?.request?.body?.size ?? 0) + (http?.response?.body?.size ?? 0);
  if (size === 0 && http?.response !== undefined) return remark("Neither side had a body.");
  const host = detail.record?.url?.domain;
  const box = el("div", remark("The bodies of this exchange were not captured."));
  if (typeof host !== "string" || host === "") return box;
  const capture = button(`Capture ${shown(host)} from now on`, () => attempt(async () => {
    const now = await source.capture();
    const hosts = listOf(now.hosts);
    if (!hosts.includes(host)) await source.setCapture([...hosts, host]);
    notify(`lupin captures ${shown(host)} as long as it runs.`);
    fill(box, remark(`${shown(host)} is captured from now on. Send the request again to see `
      + "its bodies."), button("Send again", () => refresh("again"), { class: "primary" }));
  }), { class: "primary" });
  box.append(capture);
  source.capture().then((now) => {
    if (!hostsOf(now).includes(host)) return;
    capture.replaceWith(remark(`${shown(host)} is captured now; this exchange came before.`));
  }).catch(() => capture.remove());
  return box;
}

/** The type of a body: as captured, or as the head says. */
export function typeOf(body, detail) {
  if (typeof body.type === "string") return body.type;
  return valuesOf(detail[body.side], "content-type")[0] ?? "";
}

function bodySection(body, context) {
  const { detail, source, id } = context;
  const type = typeOf(body, detail);
  const place = el("div.bodyplace");
  const tools = el("div.tools");
  const section = el("section.body", el("h3", at(sides, body.side) ?? shown(body.side)),
    el("p.told", story(body, type)),
    body.truncated && el("p.loss", at(losses, body.truncated)
      ?? `The end is missing (${shown(body.truncated)}).`),
    tools,
    place,
  );
  if (body.withheld) {
    fill(place, remark(`The body is withheld: ${shown(body.withheld)}`));
    return section;
  }
  if (!(body.kept > 0)) {
    fill(place, remark(body.bytes > 0 ? "Nothing of it was kept." : "The body is empty."));
    return section;
  }
  const load = () => attempt(async () => {
    fill(place, remark("Loading…"));
    const bytes = await source.body(id, body.side);
    showBytes(bytes, type, body, { place, tools, id });
  }).then(() => {
    if (place.textContent === "Loading…") fill(place, button("Load it again", load));
  });
  if (body.kept > loadMax) fill(place, button(`Load ${size(body.kept)}`, load));
  else load();
  return section;
}

function story(body, type) {
  const words = [type === "" ? "no type" : shown(type), `${size(body.bytes)} on the wire`];
  if (body.kept !== body.bytes) words.push(`${size(body.kept)} kept`);
  if (body.coding) words.push(`${shown(body.coding)} undone`);
  return words.join(" · ");
}

function showBytes(bytes, type, body, { place, tools, id }) {
  const state = { form: formOf(bytes, type), charset: undefined };
  const draw = () => fill(place, bodyView(bytes, type, state));
  const form = choice(forms, () => {
    state.form = form.value;
    draw();
  }, { "aria-label": "Form" });
  form.value = state.form;
  const charset = choice([["", "charset as named"], ...charsets.map((name) => [name, name])], () => {
    state.charset = charset.value || undefined;
    draw();
  }, { "aria-label": "Charset" });
  const page = isPage(type) && button("Preview", () => {
    form.value = state.form = state.form === "page" ? "text" : "page";
    draw();
  });
  fill(tools, form, charset, page, copyBody(bytes, type), button("Download", () => {
    // The type keeps the browser from opening it.
    const blob = new Blob([bytes], { type: "application/octet-stream" });
    download(`${id.slice(0, 8).replace(/\W/g, "")}-${body.side}.bin`, blob);
  }));
  draw();
}
