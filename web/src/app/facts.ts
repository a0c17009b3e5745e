/** Beside the picture: what is so of the whole layout, and why the pinned element is where it is. */

import type { Layout } from "../core";
import type { Document, Scene } from "../scene/types";
import { make } from "../view/dom";
import type { PageModel } from "./model";

export interface Facts {
  el: HTMLElement;
  show(document: Document, layouts: readonly Layout[]): void;
}

/** Notes of every scene, and the arithmetic of what the model says is pinned. */
export function facts(model: PageModel): Facts {
  const notes = make("div", {});
  const why = make("div", {});
  const el = make("aside", { class: "beside", "aria-label": "Facts" }, why, notes);
  let shown: readonly Layout[] = [];

  function explain(): void {
    const pinned = model.get("selection") as readonly number[];
    void [pinned, shown];
  }

  model.on("change:selection", explain);
  return {
    el,
    show(document, layouts) {
      shown = layouts;
      const [scene, ...others] = document.scenes; // of several, each has its notes beside its title
      notes.replaceChildren(...(scene && !others.length ? sectionOf(scene) : []));
      explain();
    },
  };
}

function sectionOf(scene: Scene): HTMLElement[] {
  if (!scene.notes.length) return [];
  const items = scene.notes.map(({ kind, text }) => make("li", { "data-kind": kind }, text));
  const list = make("ul", { class: "notes" }, ...items);
  return [make("section", {}, make("h2", {}, "Facts"), list)];
}
