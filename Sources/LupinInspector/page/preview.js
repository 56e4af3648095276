// Decides how a captured page is shown as a page: in a frame that runs and loads nothing.

import { el, remark } from "./dom.js";
import { shown, size } from "./text.js";

const pageMax = 2 * 1024 * 1024;

// The frame inherits the policy of this page, which allows files of lupin itself; this one does not.
const policy = "default-src 'none'";
// These reach for another host before any policy is asked (a browser connects for a frame that it
// does not load then), or move the frame away; a template may become a part of the page.
const removed = "link, meta, base, iframe, frame, object, embed, template";

// The one place that makes markup. What it makes only ever goes into the frame below, or into a
// document that is never shown.
const markup = globalThis.trustedTypes?.createPolicy("preview", { createHTML: (text) => text })
  ?? { createHTML: (text) => text };

/** Whether a type is that of pages. */
export function isPage(type) {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(type);
}

/** A page in a sandbox, where nothing is allowed: no script, no form, no pop-up, no origin. */
export function preview(text) {
  const page = new DOMParser().parseFromString(markup.createHTML(text.slice(0, pageMax)),
    "text/html");
  for (const node of page.querySelectorAll(removed)) node.remove();
  // A browser may connect as soon as the mouse is on a link.
  for (const node of page.querySelectorAll("a, area")) {
    for (const name of ["href", "xlink:href", "ping"]) node.removeAttribute(name);
  }
  for (const [name, content] of [["Content-Security-Policy", policy],
    ["x-dns-prefetch-control", "off"]]) {
    page.head.prepend(el("meta", { "http-equiv": name, content }));
  }
  const title = page.title === "" ? "Preview" : `Preview of “${shown(page.title.slice(0, 200))}”`;
  const frame = el("iframe.preview", { sandbox: true, referrerpolicy: "no-referrer", title });
  frame.srcdoc = markup.createHTML(`<!doctype html>${page.documentElement.outerHTML}`);
  return el("div", frame, remark("The preview runs no script, follows no link, and loads neither "
    + "images nor styles."),
  text.length > pageMax && remark(`It shows the first ${size(pageMax)}.`));
}
