/** A menu of texts to copy. */

import { make } from "../view/dom";

export interface Copyable {
  name: string;
  text: string;
}

/** A button that opens the menu; `texts` is asked when it opens. */
export function copyMenu(texts: () => readonly Copyable[], told: (words: string) => void): HTMLElement {
  const button = make("button", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false" }, "Copy");
  const list = make("div", { class: "menu", role: "menu", "aria-label": "Copy", hidden: true });
  const el = make("div", { class: "menu-of" }, button, list);

  function open(): void {
    list.replaceChildren(...texts().map(item));
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    list.querySelector("button")?.focus();
  }

  function close(back: boolean): void {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    if (back) button.focus();
  }

  function item({ name, text }: Copyable): HTMLElement {
    const entry = make(
      "button",
      { type: "button", role: "menuitem", tabindex: -1, "data-copies": name },
      make("span", {}, name),
      make("code", {}, text.split("\n")[0] ?? ""),
    );
    entry.addEventListener("click", () => {
      close(true);
      void copy(text).then((done) => told(done ? `copied: ${name}` : `this browser did not let the page copy`));
    });
    return entry;
  }

  button.addEventListener("click", () => (list.hidden ? open() : close(true)));
  el.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !el.contains(event.relatedTarget as Node)) close(false);
  });
  document.addEventListener("pointerdown", (event) => {
    if (!el.contains(event.target as Node)) close(false);
  });
  list.addEventListener("keydown", (event) => {
    const items = [...list.querySelectorAll("button")];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    const next: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    event.stopPropagation();
    if (event.key === "Escape") close(true);
    const to = next[event.key];
    if (to === undefined) return;
    event.preventDefault();
    items.at(to % items.length)?.focus();
  });
  return el;
}

/** Puts a text on the clipboard; where the browser has no such call, by the old way of a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    const focused = document.activeElement as HTMLElement | null;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return done;
  }
}
