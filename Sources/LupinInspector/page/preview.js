// Decides how a captured page is shown as a page: in a frame that runs and loads nothing.

import { el, remark } from "./dom.js";
import { shown, size } from "./text.js";

const pageMax = 2 * 1024 * 1024;

// The frame inherits the policy of this page, which allows files of lupin itself; this one does not.
const policy = "default-src 'none'";
// These reach for another host before any policy is asked (a browser connects for a frame that it
// does not load then), or move the frame away; a template may become a part of the page.
const reaching = "link, meta, base, iframe, frame, object, embed, template";
// What is text in these for one parser may be markup for the next.
const hiding = "math, svg, style, script, noscript, noembed, noframes, xmp, plaintext, listing, "
  + "textarea, select, title";
const removed = `${reaching}, ${hiding}`;
const rounds = 3;

// The one place that makes markup. What it makes only ever goes into the frame below, or into a
// document that is never shown.
const markup = globalThis.trustedTypes?.createPolicy("preview", { createHTML: (text) => text })
  ?? { createHTML: (text) => text };

/** Whether a type is that of pages. */
export function isPage(type) {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(type);
}

function parsed(text) {
  return new DOMParser().parseFromString(markup.createHTML(text), "text/html");
}

function titleOf(text) {
  const title = parsed(text.slice(0, pageMax)).title;
  return title === "" ? "Preview" : `Preview of “${shown(title.slice(0, 200))}”`;
}

// Removes what reaches for other hosts; says whether there was any.
function strip(page) {
  const found = page.querySelectorAll(removed);
  for (const node of found) node.remove();
  let isClean = found.length === 0;
  // A browser may connect as soon as the mouse is on a link.
  for (const node of page.querySelectorAll("*")) {
    for (const { name } of [...node.attributes]) {
      if (!/(^|:)href$|^ping$/i.test(name)) continue;
      node.removeAttribute(name);
      isClean = false;
    }
  }
  return !isClean;
}

// The frame parses the page once more, and what it makes of it must have nothing to remove; null
// where it always has.
function cleaned(text) {
  let page = parsed(text);
  for (let round = 0; round < rounds; round += 1) {
    strip(page);
    page = parsed(`<!doctype html>${page.documentElement.outerHTML}`);
    if (!strip(page)) return page;
  }
  return null;
}

/** A page in a sandbox, where nothing is allowed: no script, no form, no pop-up, no origin. */
export function preview(text) {
  const title = titleOf(text);
  const page = cleaned(text.slice(0, pageMax));
  if (page === null) return remark("This page can't be shown safely; its text can.");
  for (const [name, content] of [["Content-Security-Policy", policy],
    ["x-dns-prefetch-control", "off"]]) {
    page.head.prepend(el("meta", { "http-equiv": name, content }));
  }
  const frame = el("iframe.preview", { sandbox: true, referrerpolicy: "no-referrer", title });
  frame.srcdoc = markup.createHTML(`<!doctype html>${page.documentElement.outerHTML}`);
  return el("div", frame, remark("The preview runs no script, follows no link, and loads neither "
    + "images nor styles."),
  text.length > pageMax && remark(`It shows the first ${size(pageMax)}.`));
}
