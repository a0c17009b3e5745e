/** The dialog that lists all keys. */

import { make } from "../view/dom";
import { boxed, KEYS } from "../view/help";

const OWN: readonly (readonly [string, string])[] = [["/", "go to the expression"]];

/** A dialog, closed; `showModal` opens it. */
export function helpDialog(): HTMLDialogElement {
  const rows = [...OWN, ...KEYS].flatMap(([keys, does]) => [
    make("dt", {}, ...boxed(keys)),
    make("dd", {}, does),
  ]);
  const close = make("button", { type: "button" }, "Close");
  const dialog = make(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    make("header", {}, make("h2", { id: "help-title" }, "Keys"), close),
    make("dl", {}, ...rows),
    make("p", { class: "quiet" }, "What you type is read in this page, and stays in it."),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
