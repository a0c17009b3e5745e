/** The keys, in a dialog. */

import { make } from "./dom";

/** Keys and what they do, for every host to list. */
export const KEYS: readonly (readonly [string, string])[] = [
  ["Tab", "go to the next panel"],
  ["←  ↑  →  ↓", "move from cell to cell"],
  ["Home  End", "first and last cell of the row; with Ctrl, of the panel"],
  ["PageUp  PageDown", "by a block"],
  ["Enter, click", "pin the cell; with Ctrl, besides others"],
  ["Shift + arrows, drag, Shift + click", "pin a range"],
  ["Esc", "pin nothing"],
  ["[  ]", "step back and on"],
  ["+  −  0", "zoom in, out, show all; also Ctrl + wheel, pinch, or the wheel on a panel that has the focus"],
  ["drag", "on a zoomed panel, move it; with Shift, pin a range"],
  ["t", "the same as a table"],
  ["d", "dark or light"],
  ["?", "these keys"],
];

/** The keys of an entry, each in a box of its own. */
export function boxed(keys: string): (Node | string)[] {
  return keys.split(/, | {2}/).flatMap((key) => [make("kbd", {}, key), " "]);
}

/** A dialog that lists the keys. */
export function helpDialog(): HTMLDialogElement {
  const body = make("tbody");
  for (const [keys, does] of KEYS) {
    body.append(make("tr", {}, make("th", { scope: "row" }, ...boxed(keys)), make("td", {}, does)));
  }
  const close = make("form", { method: "dialog" }, make("button", {}, "Close"));
  const title = make("h2", { id: "tw-keys" }, "Keys");
  return make("dialog", { "aria-labelledby": "tw-keys" }, close, title, make("table", {}, body));
}
