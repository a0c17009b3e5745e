/** The component: a document of scenes, drawn and linked. The contract is anywidget's. */

import type { Document } from "../scene/types";

export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
  save_changes(): void;
}

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const document = model.get("document") as Document;
  el.textContent = document.title;
  return () => el.replaceChildren();
}
