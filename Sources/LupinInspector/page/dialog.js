// Decides how dialogs look and end; the browser keeps the focus inside and closes them on Escape.

import { button, el } from "./dom.js";

let number = 0;

/**
 * Opens a dialog. Returns it; `close()` ends it. `actions` are buttons for its foot.
 */
export function openDialog(title, content, { actions = [], isWide = false, onclose } = {}) {
  number += 1;
  const id = `dialog-${number}`;
  const close = button("✕", () => dialog.close(), { class: "quiet", "aria-label": "Close" });
  const dialog = el("dialog", { class: isWide ? "wide" : "", "aria-labelledby": id },
    el("header", el("h2", { id, text: title }), close), el("div.content", content),
    el("footer", actions));
  if (actions.length === 0) dialog.lastChild.remove();
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    onclose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function isDialogOpen() {
  return document.querySelector("dialog[open]") !== null;
}

/** Asks for a yes; resolves to whether it came. */
export function confirmed(title, text, yes) {
  return new Promise((resolve) => {
    let answer = false;
    const accept = button(yes, () => {
      answer = true;
      dialog.close();
    }, { class: "primary" });
    const dialog = openDialog(title, el("p", { text }), {
      actions: [accept],
      onclose: () => resolve(answer),
    });
    accept.focus();
  });
}
