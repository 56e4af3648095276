// Decides where the page says what happened: a line that leaves, or stays until it is over.

import { shownLines } from "./text.js";

let timer;
let standing = "";

function write(text, isBad) {
  const line = document.getElementById("notice");
  line.textContent = shownLines(text);
  line.hidden = text === "";
  line.classList.toggle("bad", isBad);
}

/** Says something for some seconds. */
export function notify(text, isBad = false) {
  clearTimeout(timer);
  write(String(text), isBad);
  timer = setTimeout(() => write(standing, true), isBad ? 10_000 : 3_000);
}

/** Says what does not work, until it does: `""`. */
export function stand(text) {
  if (text === standing) return;
  standing = text;
  clearTimeout(timer);
  write(text, true);
}

/** Runs an action, and says why it failed. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    notify(error.message ?? error, true);
    return undefined;
  }
}
