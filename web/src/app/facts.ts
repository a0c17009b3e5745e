/** Beside the picture: what is so of the whole layout, and why the pinned element is where it is. */

import type { Layout } from "../core";
import type { Document, Scene } from "../scene/types";
import { whyOf } from "../scene/why";
import { make } from "../view/dom";
import type { PageModel } from "./model";

export interface Facts {
  el: HTMLElement;
  show(document: Document, layouts: readonly Layout[]): void;
}

/** Notes of the scene, and the arithmetic of the element that was pinned last. */
export function facts(model: PageModel): Facts {
  const why = make("div", { class: "whys" });
  const notes = make("div");
  const el = make("aside", { class: "beside", "aria-label": "Facts" }, why, notes);
  let scenes: readonly Scene[] = [];
  let layouts: readonly Layout[] = [];

  function explain(): void {
    const pinned = (model.get("selection") as readonly number[]).at(-1);
    why.replaceChildren();
    if (pinned === undefined) return;
    layouts.forEach((layout, at) => {
      const shape = scenes[at]?.shape.map(BigInt) ?? layout.shape;
      if (BigInt(pinned) < layout.size) why.append(explained(layout, BigInt(pinned), shape));
    });
  }

  model.on("change:selection", explain);
  return {
    el,
    show(document, shown) {
      [scenes, layouts] = [document.scenes, shown];
      const [scene, ...others] = scenes; // of several, each has its notes below its title
      notes.replaceChildren(...(scene && !others.length ? [noted(scene)] : []));
      explain();
    },
  };
}

function explained(layout: Layout, flat: bigint, shape: bigint[] | Layout["shape"]): HTMLElement {
  const rows = whyOf(layout, flat, shape).flatMap(({ name, lines }) => [
    make("dt", {}, name),
    make("dd", {}, ...lines.map((line) => make("code", {}, line))),
  ]);
  return make("section", {}, make("h2", {}, "Why it is there"), make("dl", { class: "why" }, ...rows));
}

function noted(scene: Scene): HTMLElement {
  const items = scene.notes.map(({ kind, text }) => make("li", { "data-kind": kind }, text));
  return make("section", {}, make("h2", {}, "Facts"), make("ul", { class: "notes" }, ...items));
}
