// Decides how something gets to the clipboard, and what is said where the browser forbids it.

import { button, el } from "./dom.js";
import { openDialog } from "./dialog.js";
import { notify } from "./notice.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    notify("Copied.");
  } catch {
    // A page without focus, or a browser that forbids it: the text can be copied by hand.
    const area = el("textarea.mono", { rows: "12", readonly: true });
    area.value = text;
    openDialog("Copy this text", area);
    area.select();
  }
}

/** A button that copies what `text()` returns. */
export function copyButton(label, text, props = {}) {
  return button(label, async () => copy(await text()), props);
}
