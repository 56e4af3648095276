// Decides what is sent again: the exchange as it was, or what a person made of it in the form.

import { api } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, labelled, remark } from "./dom.js";
import { attempt, notify } from "./notice.js";
import { mask, requestOf } from "./request.js";
import { shown } from "./text.js";

/** Sends the exchange as it was; returns the ID of the new one. */
export async function sendAgain(context) {
  return attempt(async () => {
    const { id } = await api.send({ of: context.id });
    notify("Sent; this is the new exchange.");
    return id;
  });
}

function parseFields(text) {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`“${line.slice(0, 40)}” has no name and colon`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
}

function textArea(value, rows, label) {
  const area = el("textarea.mono", { rows, spellcheck: "false", "aria-label": label });
  area.value = value;
  return area;
}

/** Opens the form. `onsent(id)` is called with the new exchange. */
export async function openSendForm(context, onsent) {
  const request = await attempt(() => requestOf(context));
  if (request === undefined) return;
  const method = el("input.mono", { value: request.method, size: "8", spellcheck: "false" });
  const url = el("input.mono", { value: request.url, spellcheck: "false", inputmode: "url" });
  const lines = request.fields.map(([name, value]) => `${name}: ${value}`).join("\n");
  const fields = textArea(lines, "10", "Fields");
  const body = textArea(request.body ?? "", "8", "Body");
  const initial = body.value;
  const problem = el("p.loss", { role: "alert", hidden: true });
  const isHidden = mask.test(lines) || mask.test(request.url);
  const send = button("Send", async () => {
    problem.hidden = true;
    send.disabled = true;
    try {
      // What was left alone goes out as it was recorded, hidden values and binary bodies too.
      const wish = { of: context.id };
      if (method.value !== request.method) wish.method = method.value.trim();
      if (url.value !== request.url) wish.url = url.value.trim();
      if (fields.value !== lines) wish.fields = parseFields(fields.value);
      if (body.value !== initial) wish.body = body.value;
      const { id } = await api.send(wish);
      dialog.close();
      notify("Sent; this is the new exchange.");
      onsent(id);
    } catch (error) {
      problem.textContent = shown(error.message);
      problem.hidden = false;
    }
    send.disabled = false;
  }, { class: "primary" });
  const dialog = openDialog("Send again, edited", el("div.sendform",
    remark("The request goes through lupin and its rules, like any other."),
    el("div.pair", labelled("Method", method), labelled("URL", url)),
    labelled("Fields, one a line", fields),
    isHidden && remark("A value that still shows REDACTED goes out as the original did."),
    labelled("Body", body),
    request.bodyNote !== "" && remark(`${request.bodyNote}. Leave the field empty to send it as it was.`),
    problem,
  ), { actions: [send], isWide: true });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send.click();
  });
  url.focus();
}
