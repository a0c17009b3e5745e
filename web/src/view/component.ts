/**
 * The component: a document of scenes, drawn and linked. The contract is anywidget's.
 *
 * It lives in a shadow root: notebooks style every table and heading in them, and those rules end there.
 *
 * Keys of the model: `document`, `selection` (flat indices that are pinned), `step` (-1 is none), `theme`
 * ("auto", "light", "dark") and `options`. Events of `el`, which bubble: `tilewise-glance` with what is looked
 * at, and `tilewise-help`, which a host that shows its own help cancels.
 */

import type { Work } from "../scene/pieces";
import type { Document, Scene } from "../scene/types";
import { attendAround, isDarkAround } from "./around";
import { objection } from "./checked";
import type { Desk, Glance, Pinning } from "./desk";
import { button, make, short } from "./dom";
import { clamp, widths } from "./geometry";
import { helpDialog } from "./help";
import { Lit } from "./lit";
import { PALETTES, type Palette } from "./palette";
import { PanelView } from "./panel";
import { begin, coming, grouped } from "./pieces";
import { NO_STEP, Player, stepWords } from "./player";
import { Rows } from "./rows";
import { sheet } from "./styles";
import { elementsWords } from "./words";

export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
  save_changes(): void;
}

/** What a host may ask for. */
export interface Options {
  /** Show the table instead of the panels. */
  table?: boolean;
  /** Show the title and the words of the document; so it is unless false. */
  title?: boolean;
  /** Show the buttons for table, theme and keys; so it is unless false. */
  tools?: boolean;
  /** "page": keys work wherever the focus is, but in fields. */
  keys?: "page" | "own";
}

const PANEL_GAP = 30;
const MOST_PINS = 1 << 16;
const HINT = "Point at a cell to see where it lives, click to pin it; ? lists the keys";

/** Draw the model's document in `el`; the answer takes it away. */
export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const view = new View(model, el);
  return () => view.end();
}

interface Drawn {
  lit: Lit;
  panels: PanelView[];
  box: HTMLElement;
  legend: HTMLElement;
  step: HTMLElement;
  rows: Rows;
}

class View implements Desk {
  readonly #host = make("div");
  readonly #page = make("div", { class: "tw" });
  readonly #line = make("p", { class: "line", role: "status", "aria-live": "polite" });
  readonly #help = helpDialog();
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #stop = new AbortController();
  readonly #observer: ResizeObserver;
  #scenes: Drawn[] = [];
  #player = new Player(0, () => undefined);
  #tools: { table: HTMLButtonElement; theme: HTMLButtonElement } | null = null;
  #pins: readonly number[] = [];
  /** The selection as the model has it. */
  #told: unknown = null;
  #step = NO_STEP;
  #table = false;
  /** The options besides the table, as the last drawing had them. */
  #asked = "";
  #printing = false;
  #width = 0;
  /** What the line says when nothing is looked at. */
  #hint = HINT;
  #stopFilling = (): void => undefined;
  readonly #changes: [string, () => void][];

  constructor(
    private readonly model: Model,
    private readonly el: HTMLElement,
  ) {
    const root = this.#host.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet()];
    root.append(this.#page);
    el.replaceChildren(this.#host);
    this.#changes = [
      ["change:document", () => this.#draw()],
      ["change:selection", () => this.#takeSelection()],
      ["change:step", () => this.#takeStep()],
      ["change:theme", () => this.#paintTheme()],
      ["change:options", () => this.#takeOptions()],
    ];
    for (const [event, act] of this.#changes) model.on(event, act);
    const { signal } = this.#stop;
    attendAround(() => this.#follow(), signal);
    addEventListener("beforeprint", () => this.#print(true), { signal });
    addEventListener("afterprint", () => this.#print(false), { signal });
    this.#page.addEventListener("keydown", (event) => this.#key(event), { signal });
    document.addEventListener("keydown", (event) => this.#pageKey(event), { signal });
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#draw();
    this.#observer.observe(this.#host);
  }

  end(): void {
    this.#observer.disconnect();
    this.#stop.abort();
    for (const [event, act] of this.#changes) this.model.off(event, act);
    for (const panel of this.#panels()) panel.end();
    this.#stopFilling();
    this.#host.remove();
  }

  palette(): Palette {
    return PALETTES[this.#page.dataset.theme === "dark" ? "dark" : "light"];
  }

  glance(at: Glance | null): void {
    const elements = at?.elements ?? [];
    for (const { lit, panels } of this.#scenes) {
      const positions = lit.known(elements);
      for (const panel of panels) panel.look(positions);
    }
    this.#say(at);
    this.el.dispatchEvent(new CustomEvent("tilewise-glance", { bubbles: true, detail: at }));
  }

  pin(elements: readonly number[], how: Pinning): void {
    if (elements.length > MOST_PINS) {
      this.#line.textContent = `${grouped(elements.length)} elements: ${grouped(MOST_PINS)} are pinned at most`;
      return;
    }
    this.#pins = how === "range" ? elements : this.#turned(elements, how);
    this.#relight();
    this.#say(null);
    this.#told = [...this.#pins];
    this.#tell("selection", this.#told);
  }

  #turned(elements: readonly number[], how: "only" | "toggle"): number[] {
    const pinned = new Set(this.#pins);
    const whole = elements.length > 0 && elements.every((flat) => pinned.has(flat));
    if (how === "only") return whole && pinned.size === elements.length ? [] : [...elements];
    for (const flat of elements) whole ? pinned.delete(flat) : pinned.add(flat);
    return [...pinned];
  }

  /** All anew; what can be kept of zoom, focus and cells of keys is. */
  #draw(): void {
    const before = this.#panels();
    const focused = before.find((panel) => panel.grid.matches(":focus"));
    for (const panel of before) panel.end();
    this.#stopFilling();
    const value = this.model.get("document");
    const options = this.#options();
    const { table, ...others } = options;
    this.#table = table ?? this.#table;
    this.#asked = JSON.stringify(others);
    this.#scenes = [];
    const fault = objection(value);
    if (fault) return this.#refuse(fault);
    try {
      this.#build(value as Document, options);
    } catch (error) {
      return this.#refuse(error);
    }
    for (const panel of this.#panels()) {
      const other = before.find((one) => one.grid.id === panel.grid.id);
      if (other) panel.keep(other);
    }
    this.#width = 0;
    this.#fit();
    this.#hint = HINT;
    this.#stopFilling = begin(this.#fill(focused?.grid.id), (places) => {
      this.#hint = coming(places);
      this.#say(null);
    });
  }

  /** What takes a while where elements are many: colours, then panel by panel. */
  *#fill(focused: string | undefined): Work<void> {
    try {
      for (const { lit, legend } of this.#scenes) {
        yield* lit.colour();
        fillLegend(legend, lit);
      }
      this.#takeAll();
      this.#paintTheme();
      this.#showTable();
      for (const panel of this.#panels()) yield* panel.fill(() => !this.#table);
      const coming = this.#hint;
      this.#hint = HINT;
      if (this.#line.textContent === coming) this.#say(null);
      const free = document.activeElement === document.body; // else somebody went elsewhere meanwhile
      if (free) this.#panels().find((panel) => panel.grid.id === focused)?.grid.focus();
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(fault: unknown): void {
    this.#scenes = [];
    const why = fault instanceof Error ? `This document cannot be drawn: ${short(fault.message, 200)}` : `${fault}`;
    this.#page.replaceChildren(make("p", { class: "fault", role: "status" }, why));
  }

  #build(document: Document, options: Options): void {
    this.#scenes = document.scenes.map((scene, number) => this.#drawn(scene, number, document.title));
    const steps = Math.max(...document.scenes.map((scene) => scene.steps.length));
    this.#player = new Player(steps, (step) => this.#go(step));
    const parts: HTMLElement[] = [];
    if (options.title !== false && document.title) parts.push(make("h2", {}, short(document.title)));
    if (options.title !== false && document.words) {
      parts.push(make("p", { class: "words" }, short(document.words, 2000)));
    }
    const boxes = this.#scenes.map(({ box }) => box);
    const scenes = make("div", { class: "scenes", "data-count": boxes.length }, ...boxes);
    const foot = make("div", { class: "foot" }, this.#line);
    if (options.tools !== false) foot.append(this.#toolbar());
    this.#page.replaceChildren(...parts, scenes, this.#player.element, foot, this.#help);
  }

  #drawn(scene: Scene, number: number, heading: string): Drawn {
    const lit = new Lit(scene);
    const panels = scene.panels.map((panel, at) => {
      const view = new PanelView(lit, panel, number, this, `tw-${number}-${at}`);
      view.grid.id = `tw-${number}-${at}`;
      return view;
    });
    const step = make("div", { class: "step" });
    step.hidden = scene.steps.length === 0;
    const rows = new Rows(lit, (flat) => this.pin([flat], "toggle"));
    const { title, expression } = scene;
    const name = short(title || expression, 200); // of two that are one layout each is a landmark of its own
    const box = make("section", { class: "scene", "aria-label": number ? `${number + 1}: ${name}` : name });
    if (title && title !== expression && title !== heading) box.append(make("h3", {}, short(title)));
    if (expression && expression !== heading) {
      box.append(make("p", {}, make("code", {}, short(expression, 2000))));
    }
    if (scene.notes.length) box.append(notes(scene));
    const drawings = make("div", { class: "panels" }, ...panels.map(({ element }) => element));
    const legend = make("p", { class: "legend" });
    box.append(drawings, legend, step, rows.element);
    return { lit, panels, box, legend, step, rows };
  }

  #toolbar(): HTMLElement {
    const table = button("table", "Show as a table", () => this.#setTable(!this.#table));
    const theme = button("dark", "Dark or light colours", () => this.#turnTheme());
    const keys = button("?", "List the keys", () => this.#showHelp());
    this.#tools = { table, theme };
    return make("div", { class: "tools" }, table, theme, keys);
  }

  #panels(): PanelView[] {
    return this.#scenes.flatMap(({ panels }) => panels);
  }

  #options(): Options {
    return (this.model.get("options") as Options | null | undefined) ?? {};
  }

  #takeAll(): void {
    this.#told = this.model.get("selection");
    this.#pins = this.#known(this.#told);
    this.#step = this.#clamped(this.model.get("step"));
    this.#relight();
    this.#say(null);
  }

  #takeSelection(): void {
    const value = this.model.get("selection");
    if (value === this.#told) return;
    this.#told = value;
    const given = this.#known(value);
    const before = new Set(this.#pins);
    if (given.length === before.size && given.every((flat) => before.has(flat))) return;
    this.#pins = given;
    this.#relight();
    this.#say(null);
  }

  #takeStep(): void {
    const step = this.#clamped(this.model.get("step"));
    if (step === this.#step) return;
    this.#step = step;
    this.#relight();
  }

  #takeOptions(): void {
    const { table, ...others } = this.#options();
    if (JSON.stringify(others) !== this.#asked) this.#draw();
    else if (table !== undefined && table !== this.#table) {
      this.#table = table;
      this.#showTable();
    }
  }

  #known(value: unknown): number[] {
    if (!Array.isArray(value)) return [];
    const isThere = (flat: number): boolean => this.#scenes.some(({ lit }) => lit.position(flat) >= 0);
    return [...new Set(value as number[])].filter(isThere);
  }

  #clamped(value: unknown): number {
    const whole = Number.isInteger(value) ? (value as number) : NO_STEP;
    return clamp(whole, NO_STEP, this.#player.count - 1);
  }

  #go(step: number): void {
    this.#step = this.#clamped(step);
    this.#relight();
    this.#tell("step", this.#step);
  }

  #tell(name: string, value: unknown): void {
    this.model.set(name, value);
    this.model.save_changes();
  }

  #relight(): void {
    this.#player.show(this.#step);
    for (const { lit, panels, step, rows } of this.#scenes) {
      lit.light(this.#pins, lit.scene.steps[this.#step] ?? null);
      step.replaceChildren(...stepWords(lit.scene, this.#step));
      if (this.#table) rows.turn();
      for (const panel of panels) panel.relight(!this.#table);
    }
  }

  /** The line below: what is under the cursor, else what is pinned, else what can be done. */
  #say(at: Glance | null): void {
    const positions = ({ lit }: Drawn): number[] => (at ? lit.known(at.elements) : lit.pinned());
    const parts = this.#scenes.map((drawn) => this.#sayOf(drawn.lit, positions(drawn))).filter(Boolean);
    const found = [...new Set(parts)].join("\n");
    const nothing = at ? `${at.where}: empty` : this.#hint;
    const said = found ? (at ? found : `Pinned ${found}`) : nothing;
    if (this.#line.textContent !== said) this.#line.textContent = said;
  }

  #sayOf(lit: Lit, positions: readonly number[]): string {
    if (!positions.length) return "";
    const said = elementsWords(lit, positions);
    return this.#scenes.length > 1 ? `${short(lit.scene.title || lit.scene.expression, 60)}: ${said}` : said;
  }

  #theme(): "light" | "dark" {
    const asked = this.model.get("theme");
    if (this.#printing) return "light";
    if (asked === "light" || asked === "dark") return asked;
    return (isDarkAround(this.#host) ?? this.#dark.matches) ? "dark" : "light";
  }

  #turnTheme(): void {
    this.#tell("theme", this.#theme() === "dark" ? "light" : "dark");
    this.#paintTheme();
  }

  /** In "auto" the colours are those of the page around. */
  #follow(): void {
    if (this.#page.dataset.theme !== this.#theme()) this.#paintTheme();
  }

  #paintTheme(): void {
    const theme = this.#theme();
    this.#page.dataset.theme = theme;
    if (this.#tools) this.#tools.theme.textContent = theme === "dark" ? "light" : "dark";
    if (!this.#table) for (const panel of this.#panels()) panel.paint(true);
  }

  #print(printing: boolean): void {
    this.#printing = printing;
    this.#paintTheme();
  }

  #setTable(table: boolean): void {
    this.#table = table;
    this.#tell("options", { ...this.#options(), table });
    this.#showTable();
  }

  #showTable(): void {
    this.#tools?.table.setAttribute("aria-pressed", String(this.#table));
    for (const { box, rows, panels } of this.#scenes) {
      for (const part of box.querySelectorAll<HTMLElement>(".panels, .legend")) part.hidden = this.#table;
      rows.element.hidden = !this.#table;
      if (this.#table) rows.turn(0);
      else for (const panel of panels) panel.paint();
    }
  }

  /** Give the panels the width that there is; they paint then. */
  #fit(): void {
    const width = this.#host.clientWidth;
    if (!width || width === this.#width || !this.#scenes.length) return;
    this.#width = width;
    this.#follow();
    const columns = this.#scenes.length === 2 && width >= 900 ? 2 : 1;
    const room = columns === 2 ? Math.floor((width - 40) / 2) : width;
    for (const { panels } of this.#scenes) {
      const given = widths(panels.map((panel) => panel.likedWidth()), room, PANEL_GAP);
      panels.forEach((panel, i) => panel.resize(given[i]!));
    }
  }

  #key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.#help.open) return;
    const target = event.composedPath()[0];
    const typing = target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "range";
    if (typing || !this.#act(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #pageKey(event: KeyboardEvent): void {
    if (this.#options().keys !== "page" || event.composedPath().includes(this.#page)) return;
    const target = event.composedPath()[0];
    const fields = "input, textarea, select, dialog, [contenteditable]";
    if (target instanceof HTMLElement && target.closest(fields)) return;
    this.#key(event);
  }

  #act(key: string): boolean {
    if (key === "[") this.#go(this.#step - 1);
    else if (key === "]") this.#go(this.#step + 1);
    else if (key === "t") this.#setTable(!this.#table);
    else if (key === "d") this.#turnTheme();
    else if (key === "?") this.#showHelp();
    else if (key === "Escape" && this.#pins.length) this.pin([], "only");
    else return false;
    return true;
  }

  #showHelp(): void {
    const asked = new CustomEvent("tilewise-help", { bubbles: true, cancelable: true });
    if (this.el.dispatchEvent(asked)) this.#help.showModal();
  }
}

/** Sentences on the scene, each with its kind in words. */
function notes(scene: Scene): HTMLElement {
  const list = make("ul", { class: "notes" });
  for (const { kind, text } of scene.notes.slice(0, 200)) {
    const known = kind === "yes" || kind === "no" || kind === "hint" ? kind : "fact";
    const said = known === "fact" ? [] : [make("b", {}, `${known}: `)];
    list.append(make("li", { class: known }, ...said, short(text, 1000)));
  }
  return list;
}

/** The colours, numbered, and in words what they mean. */
function fillLegend(legend: HTMLElement, lit: Lit): void {
  const swatches = make("span", { class: "swatches", "aria-hidden": "true" });
  for (let colour = 0; colour < 8; colour++) {
    if (lit.colours.includes(colour)) swatches.append(make("span", { class: `s${colour}` }, String(colour)));
  }
  const words = make("span", {}, `colour: ${short(lit.scene.colour.words, 200)}`);
  legend.replaceChildren(swatches, words);
}
