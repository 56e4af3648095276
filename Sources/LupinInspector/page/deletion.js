// Decides how captures are deleted: which ones is asked, and nothing is chosen that is not there.

import { api } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, fill, remark } from "./dom.js";
import { attempt, notify } from "./notice.js";
import { counted, shown, size } from "./text.js";

/**
 * Asks what is to be deleted, and deletes it. `id` is the open exchange, if one is, and `filter` the
 * one that holds; `done` is called after something was deleted.
 */
export async function openDeletion({ id, filter, done }) {
  const now = await attempt(() => api.capture());
  if (now === undefined) return;
  const choices = [
    id !== undefined && [{ id }, "The open exchange", ""],
    filter !== "" && [{ filter }, "Those that the filter keeps", filter],
    [{}, `All ${counted(Number(now.exchanges) || 0, "captured exchange")}`,
      size(Number(now.bytes) || 0)],
  ].filter(Boolean);
  const boxes = choices.map(([, text, detail], i) => {
    const box = el("input", { type: "radio", name: "captures", value: i });
    box.checked = i === 0;
    return el("label.choice", box, el("span", text, detail && el("code", ` ${shown(detail)}`)));
  });
  const remove = button("Delete", async () => {
    const place = Math.max(0, boxes.findIndex((box) => box.firstChild.checked));
    remove.disabled = true;
    const answer = await attempt(() => api.uncapture(choices[place][0]));
    remove.disabled = false;
    if (answer === undefined) return;
    dialog.close();
    notify(answer.deleted === undefined ? "All captures are deleted."
      : `Deleted: ${counted(Number(answer.deleted), "captured exchange")}.`);
    done();
  }, { class: "danger" });
  const dialog = openDialog("Delete captures?", fill(el("div"), remark("Bodies, messages and "
    + "comments go from the disk, for good. lupin remembers the heads of the last exchanges; these "
    + "stay in the list."), boxes), { actions: [remove] });
  boxes[0].firstChild.focus();
}
