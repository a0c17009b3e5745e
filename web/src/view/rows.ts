/** The same data as a table of rows, a page at a time. */

import { clamp } from "./geometry";
import { button, make, short } from "./dom";
import { STRONG, type Lit } from "./lit";
import { axesInOrder, coordinates } from "./words";

const PAGE = 64;
const MOST_COPIES = 16;

/** A table of the elements of one scene; `pin` changes what is pinned. */
export class Rows {
  readonly element = make("div", { class: "rows" });
  readonly #box = make("div");
  readonly #count = make("span", { class: "quiet" });
  readonly #back: HTMLButtonElement;
  readonly #next: HTMLButtonElement;
  #page = 0;

  constructor(
    private readonly lit: Lit,
    private readonly pin: (flat: number) => void,
  ) {
    this.#back = button("‹", "Rows before", () => this.turn(this.#page - 1));
    this.#next = button("›", "Rows after", () => this.turn(this.#page + 1));
    const pages = make("div", { class: "pages" }, this.#back, this.#next, this.#count);
    this.element.append(this.#box, pages);
  }

  /** Write the rows of a page. */
  turn(page = this.#page): void {
    const { lit } = this;
    const last = Math.max(0, Math.ceil(lit.count / PAGE) - 1);
    this.#page = clamp(page, 0, last);
    const first = this.#page * PAGE;
    const end = Math.min(lit.count, first + PAGE);
    const axes = axesInOrder(lit.scene);
    const lanes = lit.step !== null && lit.step.lanes.length > 0;
    const head = make("tr");
    const names = ["pinned", "index", ...(lit.scene.shape.length > 1 ? ["coordinates"] : [])];
    for (const name of [...names, ...axes.map((axis) => axis.name), "colour", ...(lanes ? ["lane"] : [])]) {
      head.append(make("th", { scope: "col" }, short(name, 60)));
    }
    const body = make("tbody");
    for (let position = first; position < end; position++) body.append(this.#row(position, lanes));
    const table = make("table", {}, make("thead", {}, head), body);
    const title = short(lit.scene.title || lit.scene.expression, 200);
    table.prepend(make("caption", {}, `${title}: elements ${first} to ${end - 1} of ${lit.count}`));
    this.#keepingFocus(() => this.#box.replaceChildren(table));
    this.#count.textContent = `page ${this.#page + 1} of ${last + 1}`;
    this.#back.disabled = this.#page === 0;
    this.#next.disabled = this.#page === last;
  }

  #row(position: number, lanes: boolean): HTMLElement {
    const { lit } = this;
    const { scene } = lit;
    const flat = lit.flat(position);
    const named = coordinates(scene, flat).join(", ");
    const check = make("input", { type: "checkbox", "aria-label": `pin ${named}`, "data-flat": flat });
    check.checked = lit.how[position] === STRONG;
    check.addEventListener("change", () => this.pin(flat));
    const cells = [make("td", {}, check), make("td", {}, String(flat))];
    if (scene.shape.length > 1) cells.push(make("td", {}, `(${named})`));
    const copies = Math.min(lit.copies, MOST_COPIES);
    for (const axis of axesInOrder(scene)) {
      const values = new Set<string>();
      const places = scene.places[axis.name]!;
      for (let copy = 0; copy < copies; copy++) values.add(String(places[position * scene.copies + copy]));
      cells.push(make("td", {}, [...values].join(" | ") + (lit.copies > copies ? " | …" : "")));
    }
    cells.push(make("td", {}, String(lit.colours[position])));
    if (lanes) cells.push(make("td", {}, lit.lanesOf(position).join(", ")));
    return make("tr", {}, ...cells);
  }

  /** A row that is written anew keeps the focus that it had. */
  #keepingFocus(write: () => void): void {
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const flat = (root.activeElement as HTMLElement | null)?.dataset.flat;
    write();
    if (flat !== undefined) this.#box.querySelector<HTMLElement>(`[data-flat="${Number(flat)}"]`)?.focus();
  }
}
