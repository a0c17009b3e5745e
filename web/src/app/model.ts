/** What a host gives to the component: values by name, and who hears of their changes. */

import type { Model } from "../view/component";

/** A model that lives in this page, after anywidget's. */
export class PageModel implements Model {
  readonly #values = new Map<string, unknown>();
  readonly #heard = new Map<string, Set<() => void>>();

  constructor(values: Readonly<Record<string, unknown>>) {
    for (const [name, value] of Object.entries(values)) this.#values.set(name, value);
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  set(name: string, value: unknown): void {
    if (Object.is(this.#values.get(name), value)) return;
    this.#values.set(name, value);
    for (const callback of [...(this.#heard.get(`change:${name}`) ?? [])]) callback();
  }

  on(event: string, callback: () => void): void {
    const callbacks = this.#heard.get(event) ?? new Set();
    this.#heard.set(event, callbacks.add(callback));
  }

  off(event: string, callback: () => void): void {
    this.#heard.get(event)?.delete(callback);
  }

  save_changes(): void {}
}
