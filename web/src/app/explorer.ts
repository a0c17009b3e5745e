/** The explorer: what is typed is read at every keystroke, in this page, and drawn by the component. */

import type { Layout } from "../core";
import { isInstalled, miss, needsHardware } from "../scene/hardware";
import type { Work } from "../scene/pieces";
import type { Document } from "../scene/types";
import { make } from "../view/dom";
import { render } from "../view/component";
import { begin, coming } from "../view/pieces";
import { controls, type Controls } from "./controls";
import { canConvert, convert, convertBy, converted, type Ask } from "./convert";
import { copyable } from "./copies";
import { facts, type Facts } from "./facts";
import { field, type Field } from "./field";
import { gallery, type Gallery } from "./gallery";
import { helpDialog } from "./help";
import { copyMenu } from "./menu";
import { PageModel } from "./model";
import { nameOf, presetOf, PRESETS, type Setting } from "./presets";
import { question, sightOf, type Sight, type Where, type Wrong } from "./sight";
import { spaced } from "./spacing";
import { fromFragment, toFragment, type State, type Theme } from "./state";

/** Brings `hardware.js`, which installs itself; a promise that is kept when it has. */
export type Load = () => Promise<unknown>;

/** Pins and step. */
type Held = Pick<State, "i" | "c">;

const SETTING = ["e", "e2", "d", "a", "s", "w"] as const;
const PATIENCE = 100;
const NO_STEP = -1;
const LOADING = "loading hardware.js";
const OPTIONS = { table: false, title: false, tools: false, keys: "page" };

/** The page: shows what the address says, and keeps the address at what is shown. `ask` asks its server. */
export function explore(el: HTMLElement, load?: Load, ask?: Ask | null): void {
  if (ask) convertBy(ask);
  mount(el, location.hash, load);
}

/**
 * The explorer in an element of a page that has `page.css`, beginning with a state as addresses have it; an address that says one
 * goes first. `load` is called when something is typed that only the hardware knows, and not before.
 */
export function mount(el: HTMLElement, stateText: string, load?: Load): void {
  new Explorer(el, load).begin(location.hash.length > 1 ? location.hash : stateText);
}

class Explorer {
  readonly #el: HTMLElement;
  readonly #load: Load | undefined;
  #state: State = { v: 1, e: "" };
  #layouts: readonly Layout[] = [];
  #writing: ReturnType<typeof setTimeout> | undefined;
  readonly #model = new PageModel({ selection: [], step: NO_STEP, theme: "auto", options: OPTIONS });
  readonly #first: Field;
  readonly #second: Field;
  readonly #controls: Controls;
  readonly #gallery: Gallery;
  readonly #facts: Facts;
  readonly #compare: HTMLButtonElement;
  readonly #theme: HTMLButtonElement;
  readonly #table: HTMLButtonElement;
  readonly #told = make("div", { class: "told", role: "status" });
  readonly #help = helpDialog();
  readonly #picture = make("div", { class: "picture" });
  readonly #desk = make("div", { class: "desk" });
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  /** What a preset said, and nobody has written since: it goes without a word where it does not fit. */
  #given: Set<Where> = new Set();
  #drawn = false;
  /** What was said of work that takes a while. */
  #coming = "";
  #waiting: ReturnType<typeof setTimeout> | undefined;
  /** A text that the server is about to be asked for. */
  #asking: ReturnType<typeof setTimeout> | undefined;
  #stopLooking = (): void => undefined;

  constructor(el: HTMLElement, load: Load | undefined) {
    this.#el = el;
    this.#load = load;
    this.#first = field("expression", "Layout", (e) => this.#edit({ e }, "e"));
    this.#second = field("beside", "Layout beside it", (e2) => this.#edit({ e2 }, "e2"));
    this.#controls = controls((name, text) => this.#edit({ [name]: text || undefined }, name));
    this.#gallery = gallery((name) => this.#pick(name));
    this.#facts = facts(this.#model);
    this.#compare = make("button", { type: "button", class: "plain" });
    this.#theme = make("button", { type: "button" });
    this.#table = make("button", { type: "button", "aria-pressed": "false" }, "Table");
    this.#build();
    this.#listen();
  }

  /** The first state: an address, or the first preset. */
  begin(text: string): void {
    this.#follow(text.length > 1 ? text : toFragment({ v: 1, e: "", p: nameOfFirst() }));
    this.#write("replace");
  }

  #build(): void {
    const help = make("button", { type: "button", "aria-label": "Keys and help", title: "Keys and help" }, "?");
    help.addEventListener("click", () => this.#help.showModal());
    const copy = copyMenu(
      () => copyable(this.#layouts[0] ?? null, this.#link()),
      (words) => this.#tell(words),
    );
    const head = make(
      "header",
      { class: "head" },
      make("h1", {}, "tilewise"),
      make("p", {}, "see where every element lives"),
      make("div", { class: "tools" }, copy, this.#table, this.#theme, help),
    );
    this.#controls.el.append(this.#compare);
    this.#desk.append(this.#gallery.story, this.#picture, this.#facts.el);
    const main = make(
      "main",
      {},
      this.#first.el,
      this.#second.el,
      this.#controls.el,
      this.#gallery.list,
      this.#desk,
    );
    this.#el.classList.add("tilewise");
    this.#el.replaceChildren(head, main, this.#told, this.#help);
  }

  #listen(): void {
    this.#compare.addEventListener("click", () => this.#toggleSecond());
    this.#theme.addEventListener("click", () => this.#setTheme(this.#themeNow() === "dark" ? "light" : "dark"));
    this.#table.addEventListener("click", () => this.#toggleTable());
    this.#dark.addEventListener("change", () => this.#paint());
    this.#model.on("change:selection", () => this.#keep({ i: this.#model.get("selection") as number[] }));
    this.#model.on("change:step", () => {
      const step = this.#model.get("step") as number;
      this.#keep({ c: step < 0 ? undefined : step });
    });
    this.#model.on("change:theme", () => this.#setTheme(this.#model.get("theme") as Theme));
    this.#model.on("change:options", () => this.#paint());
    this.#el.addEventListener("tilewise-help", (event) => {
      event.preventDefault();
      this.#help.showModal();
    });
    addEventListener("popstate", () => this.#follow(location.hash));
    addEventListener("pagehide", () => this.#write("replace"));
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  /** What someone typed: the preset is none any more. */
  #edit(change: Partial<State>, where: Where | null = null): void {
    if (where) this.#given.delete(where);
    this.#state = { ...this.#state, ...change, p: undefined, i: undefined, c: undefined };
    this.#look(where);
    this.#write("later");
  }

  /** What the component says of itself. */
  #keep(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change };
    this.#write("later");
  }

  #pick(name: string): void {
    this.#write("replace");
    this.#state = { v: 1, t: this.#state.t, p: name, ...settingOf(name) };
    this.#given = new Set(SETTING);
    this.#fill();
    this.#look();
    this.#write("push");
  }

  #toggleSecond(): void {
    const opened = this.#state.e2 === undefined;
    this.#edit({ e2: opened ? this.#state.e : undefined });
    this.#fill();
    (opened ? this.#second.input : this.#compare).focus();
  }

  /** Shows what an address says. */
  #follow(fragment: string): void {
    const found = fromFragment(fragment);
    if (found instanceof Error) {
      this.#tell(found.message);
      if (this.#drawn) return;
    }
    const state = found instanceof Error ? { v: 1 as const, e: "", p: nameOfFirst() } : found;
    if (!state.e) state.p = this.#exampleOf(state.p ?? "");
    const named = state.p !== undefined && !state.e;
    this.#state = named ? { ...state, ...settingOf(state.p ?? "") } : { ...state, p: undefined };
    this.#given = new Set(named ? SETTING : []);
    this.#fill();
    this.#look();
  }

  /** The name of an example that there is; what there is not is said. */
  #exampleOf(name: string): string {
    const found = presetOf(name);
    if (!found && name) this.#tell(`this page has no example ${name.slice(0, 40)}`);
    if (!found) return nameOfFirst();
    const { preset, chosen, unknown } = found;
    if (!unknown.length) return name;
    this.#tell(`the example ${preset.id} has no choice ${unknown[0]!.slice(0, 40)}`);
    return nameOf(preset, chosen);
  }

  /** The pins and the step that a picture has; what it has not is said, and leaves the address. */
  #heldIn(sight: Sight, { i = [], c }: Held): Held {
    const size = Math.max(...sight.layouts.map((layout) => Number(layout.size)));
    const steps = Math.max(...sight.document.scenes.map((scene) => scene.steps.length));
    const past = i.filter((pin) => pin >= size);
    const isPast = c !== undefined && c >= steps;
    if (!past.length && !isPast) return { i, c };
    const pinned = past.length ? [`element ${past[0]} of ${size}`] : [];
    const stepped = isPast ? [`step ${c + 1} of ${steps}`] : [];
    this.#tell(`this link says ${[...pinned, ...stepped].join(" and ")}: left out`);
    this.#write("later");
    return { i: i.filter((pin) => pin < size), c: isPast ? undefined : c };
  }

  /** Fields and controls say what the state does. */
  #fill(): void {
    const { e, e2 } = this.#state;
    this.#first.set(e);
    this.#second.set(e2 ?? "");
    this.#second.el.hidden = e2 === undefined;
    this.#compare.textContent = e2 === undefined ? "compare with a second layout" : "no second layout";
    this.#controls.set(this.#state);
  }

  /** Reads, and draws what is right; what is wrong is said, and the last picture stays. */
  #look(written: Where | null = null): void {
    this.#stopLooking();
    clearTimeout(this.#asking);
    this.#seen();
    const { e, e2 = "", a = "", i, c } = this.#state;
    const draw = (): void => {
      this.#stopLooking = begin(this.#see(written, { i, c }), (places) => this.#busy(coming(places)));
    };
    if (this.#load && !isInstalled() && needsHardware([e, e2], a)) this.#bring(this.#load, written, draw);
    else draw();
  }

  /** Loads the hardware, then draws; till then the last picture stays, and nothing is said to be wrong. */
  #bring(load: Load, written: Where | null, draw: () => void): void {
    let isWanted = true;
    this.#stopLooking = () => {
      isWanted = false;
    };
    this.#say(null);
    this.#busy(LOADING);
    const missed = (): void => {
      miss();
      if (isWanted) this.#given.clear(); // what a preset said does not go without a word then
    };
    const goOn = (): void => {
      if (!isWanted) return;
      this.#seen();
      draw();
      if (written === "e") this.#first.offer();
      if (written === "e2") this.#second.offer();
    };
    void load().catch(missed).then(goOn);
  }

  /** Has the server convert a text that the page cannot read, when the typing rests; then looks again. */
  #ask({ where, fault }: Wrong, written: Where | null): void {
    if ((where !== "e" && where !== "e2") || fault.quiet) return;
    const asked = question(this.#state, where);
    if (!canConvert(asked.text) || converted(asked)) return;
    const goOn = (): void => {
      if (question(this.#state, where).text === asked.text) this.#look(written);
    };
    this.#asking = setTimeout(() => void convert(asked).then(goOn, () => undefined), 2 * PATIENCE);
  }

  /** Says what it does, if that takes a while. */
  #busy(words: string): void {
    this.#desk.ariaBusy = "true";
    this.#waiting = setTimeout(() => (this.#told.textContent = this.#coming = words), 3 * PATIENCE);
  }

  #seen(): void {
    clearTimeout(this.#waiting);
    this.#desk.ariaBusy = "false";
    if (this.#told.textContent === this.#coming) this.#told.textContent = "";
  }

  /** With the pins and the step that were asked for: what is pinned meanwhile is of the picture before. */
  *#see(written: Where | null, asked: Held): Work<void> {
    const sight = yield* sightOf(this.#state, written);
    this.#seen();
    const wrong = "fault" in sight ? sight : null;
    const without = "fault" in sight ? null : sight.without;
    if (without && this.#given.delete(without.where)) {
      this.#state = { ...this.#state, [without.where]: undefined };
      this.#controls.set(this.#state);
      return yield* this.#see(written, asked);
    }
    this.#say(wrong ?? without);
    if (wrong) this.#ask(wrong, written);
    this.#el.classList.toggle("stale", wrong !== null);
    this.#gallery.show(this.#state.p ?? null);
    document.title = spaced(this.#state.e) || "tilewise";
    this.#paint();
    if (!("document" in sight)) return;
    this.#layouts = sight.layouts;
    const held = this.#heldIn(sight, asked);
    this.#state = { ...this.#state, ...held };
    this.#model.set("selection", [...(held.i ?? [])]);
    this.#desk.dataset.scenes = String(sight.layouts.length);
    this.#model.set("document", pictureOf(sight.document));
    this.#model.set("step", held.c ?? NO_STEP);
    if (!this.#drawn) render({ model: this.#model, el: this.#picture });
    this.#drawn = true;
    this.#gallery.say(sight.document.words);
    this.#facts.show(sight.document, sight.layouts);
  }

  #say(wrong: Wrong | null): void {
    const { where, fault } = wrong ?? { where: null, fault: null };
    const field = where === "e" || where === "e2";
    this.#first.fault(where === "e" ? fault : null);
    this.#second.fault(where === "e2" ? fault : null);
    this.#controls.fault(field ? null : where, fault && !field ? fault : null);
  }

  #paint(): void {
    const theme = this.#themeNow();
    const other = theme === "dark" ? "Light" : "Dark";
    this.#el.dataset.theme = theme;
    this.#table.setAttribute("aria-pressed", String(this.#hasTable()));
    this.#theme.textContent = other;
    this.#theme.setAttribute("aria-label", `${other} theme`);
    document.documentElement.style.background = theme === "dark" ? "#14161a" : "#ffffff";
    this.#model.set("theme", theme);
  }

  #themeNow(): Theme {
    return this.#state.t ?? (this.#dark.matches ? "dark" : "light");
  }

  /** A theme that is the reader's own anyway is not said in the address. */
  #setTheme(theme: Theme): void {
    if (theme === this.#themeNow()) return;
    const own = this.#dark.matches ? "dark" : "light";
    this.#state = { ...this.#state, t: theme === own ? undefined : theme };
    this.#paint();
    this.#write("later");
  }

  #hasTable(): boolean {
    return (this.#model.get("options") as typeof OPTIONS).table;
  }

  /** The whole address of what is shown. */
  #link(): string {
    return location.href.replace(/#.*$/s, "") + this.#fragment();
  }

  #fragment(): string {
    const { p, ...state } = this.#state;
    if (!p) return toFragment(state);
    const short: State = { v: 1, e: "", p, i: state.i, c: state.c, t: state.t };
    return toFragment(short);
  }

  /** Puts what is shown into the address bar; typing is written when it rests. */
  #write(when: "later" | "replace" | "push"): void {
    clearTimeout(this.#writing);
    if (when === "later") {
      this.#writing = setTimeout(() => this.#write("replace"), PATIENCE);
      return;
    }
    const fragment = this.#fragment();
    if (fragment === location.hash) return;
    if (when === "push") history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  }

  #tell(words: string): void {
    this.#told.textContent = words;
    setTimeout(() => {
      if (this.#told.textContent === words) this.#told.textContent = "";
    }, 4000);
  }

  #key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.#help.open) return;
    if ((event.target as HTMLElement).closest("input, textarea, select, [contenteditable]")) return;
    if (event.key !== "/") return;
    event.preventDefault();
    this.#first.input.focus();
    this.#first.input.select();
  }

  #toggleTable(): void {
    this.#model.set("options", { ...OPTIONS, table: !this.#hasTable() });
  }
}

/** What the component draws: of a scene alone the page has the expression in its field, and the notes beside. */
function pictureOf(document: Document): Document {
  if (document.scenes.length > 1) return { ...document, title: "", words: "" };
  const scenes = document.scenes.map((scene) => ({ ...scene, title: scene.expression, notes: [] }));
  return { ...document, title: scenes[0]?.expression ?? "", scenes };
}

function settingOf(name: string): Setting {
  const found = presetOf(name);
  const none = Object.fromEntries(SETTING.map((field) => [field, undefined]));
  return found ? { ...none, ...found.preset.setting(found.chosen) } : { e: "" };
}

function nameOfFirst(): string {
  const preset = PRESETS[0];
  return preset ? nameOf(preset, preset.choices.map(({ options }) => options[0] ?? "")) : "";
}
