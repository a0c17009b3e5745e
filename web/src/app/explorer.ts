/** The explorer: what is typed is read at every keystroke, in this page, and drawn by the component. */

import type { Layout } from "../core";
import type { Document } from "../scene/types";
import { make } from "../view/dom";
import { render } from "../view/component";
import { controls, type Controls } from "./controls";
import { copyable } from "./copies";
import css from "./explorer.css";
import { facts, type Facts } from "./facts";
import { field, type Field } from "./field";
import { gallery, type Gallery } from "./gallery";
import { helpDialog } from "./help";
import { copyMenu } from "./menu";
import { PageModel } from "./model";
import { nameOf, presetOf, PRESETS, type Setting } from "./presets";
import { sightOf, type Sight, type Where, type Wrong } from "./sight";
import { spaced } from "./spacing";
import { fromFragment, toFragment, type State, type Theme } from "./state";
import { adopt } from "./styles";

const SETTING = ["e", "e2", "d", "a", "s", "w"] as const;
const PATIENCE = 100;
const NO_STEP = -1;
const OPTIONS = { table: false, title: false, tools: false, keys: "page" };

/** The page: shows what the address says, and keeps the address at what is shown. */
export function explore(el: HTMLElement): void {
  mount(el, location.hash);
}

/** The explorer in an element, beginning with a state as addresses have it; an address that says one goes first. */
export function mount(el: HTMLElement, stateText: string): void {
  adopt(css);
  new Explorer(el).begin(location.hash.length > 1 ? location.hash : stateText);
}

class Explorer {
  private state: State = { v: 1, e: "" };
  private layouts: readonly Layout[] = [];
  private writing: ReturnType<typeof setTimeout> | undefined;
  private readonly model = new PageModel({ selection: [], step: NO_STEP, theme: "auto", options: OPTIONS });
  private readonly first: Field;
  private readonly second: Field;
  private readonly controls: Controls;
  private readonly gallery: Gallery;
  private readonly facts: Facts;
  private readonly compare: HTMLButtonElement;
  private readonly theme: HTMLButtonElement;
  private readonly table: HTMLButtonElement;
  private readonly told = make("div", { class: "told", role: "status" });
  private readonly help = helpDialog();
  private readonly picture = make("div", { class: "picture" });
  private readonly desk = make("div", { class: "desk" });
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private drawn = false;

  constructor(private readonly el: HTMLElement) {
    this.first = field("expression", "Layout", (e) => this.edit({ e }, "e"));
    this.second = field("beside", "Layout beside it", (e2) => this.edit({ e2 }, "e2"));
    this.controls = controls((name, text) => this.edit({ [name]: text || undefined }, name));
    this.gallery = gallery((name) => this.pick(name));
    this.facts = facts(this.model);
    this.compare = make("button", { type: "button", class: "plain" });
    this.theme = make("button", { type: "button" });
    this.table = make("button", { type: "button", "aria-pressed": "false" }, "Table");
    this.build();
    this.listen();
  }

  /** The first state: an address, or the first preset. */
  begin(text: string): void {
    this.follow(text.length > 1 ? text : toFragment({ v: 1, e: "", p: nameOfFirst() }));
    this.write("replace");
  }

  private build(): void {
    const help = make("button", { type: "button", "aria-label": "Keys and help", title: "Keys and help" }, "?");
    help.addEventListener("click", () => this.help.showModal());
    const copy = copyMenu(
      () => copyable(this.layouts[0] ?? null, this.link()),
      (words) => this.tell(words),
    );
    const head = make(
      "header",
      { class: "head" },
      make("h1", {}, "tilewise"),
      make("p", {}, "see where every element lives"),
      make("div", { class: "tools" }, copy, this.table, this.theme, help),
    );
    this.controls.el.append(this.compare);
    this.desk.append(this.gallery.story, this.picture, this.facts.el);
    const main = make(
      "main",
      {},
      this.first.el,
      this.second.el,
      this.controls.el,
      this.gallery.list,
      this.desk,
    );
    this.el.classList.add("tilewise");
    this.el.replaceChildren(head, main, this.told, this.help);
  }

  private listen(): void {
    this.compare.addEventListener("click", () => this.toggleSecond());
    this.theme.addEventListener("click", () => this.setTheme(this.themeNow() === "dark" ? "light" : "dark"));
    this.table.addEventListener("click", () => this.toggleTable());
    this.dark.addEventListener("change", () => this.paint());
    this.model.on("change:selection", () => this.keep({ i: this.model.get("selection") as number[] }));
    this.model.on("change:step", () => {
      const step = this.model.get("step") as number;
      this.keep({ c: step < 0 ? undefined : step });
    });
    this.model.on("change:theme", () => this.setTheme(this.model.get("theme") as Theme));
    this.model.on("change:options", () => this.paint());
    this.el.addEventListener("tilewise-help", (event) => {
      event.preventDefault();
      this.help.showModal();
    });
    addEventListener("popstate", () => this.follow(location.hash));
    addEventListener("pagehide", () => this.write("replace"));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** What someone typed: the preset is none any more. */
  private edit(change: Partial<State>, where: Where | null = null): void {
    this.state = { ...this.state, ...change, p: undefined, i: undefined, c: undefined };
    this.look(where);
    this.write("later");
  }

  /** What the component says of itself. */
  private keep(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    this.write("later");
  }

  private pick(name: string): void {
    this.write("replace");
    this.state = { v: 1, t: this.state.t, p: name, ...settingOf(name) };
    this.fill();
    this.look();
    this.write("push");
  }

  private toggleSecond(): void {
    const opened = this.state.e2 === undefined;
    this.edit({ e2: opened ? this.state.e : undefined });
    this.fill();
    (opened ? this.second.input : this.compare).focus();
  }

  /** Shows what an address says. */
  private follow(fragment: string): void {
    const found = fromFragment(fragment);
    if (found instanceof Error) {
      this.tell(found.message);
      if (this.drawn) return;
    }
    const state = found instanceof Error ? { v: 1 as const, e: "", p: nameOfFirst() } : found;
    this.state = state.p && !state.e ? { ...state, ...settingOf(state.p) } : state;
    this.fill();
    this.look();
  }

  /** Fields and controls say what the state does. */
  private fill(): void {
    const { e, e2 } = this.state;
    this.first.set(e);
    this.second.set(e2 ?? "");
    this.second.el.hidden = e2 === undefined;
    this.compare.textContent = e2 === undefined ? "compare with a second layout" : "no second layout";
    this.controls.set(this.state);
  }

  /** Reads, and draws what is right; what is wrong is said, and the last picture stays. */
  private look(written: Where | null = null): void {
    const sight = sightOf(this.state, written);
    const wrong = "fault" in sight ? sight : null;
    this.say(wrong ?? (sight as Sight).without);
    this.el.classList.toggle("stale", wrong !== null);
    this.gallery.show(this.state.p ?? null);
    document.title = spaced(this.state.e) || "tilewise";
    this.paint();
    if (!("document" in sight)) return;
    this.layouts = sight.layouts;
    this.model.set("selection", [...(this.state.i ?? [])]);
    this.desk.dataset.scenes = String(sight.layouts.length);
    this.model.set("document", pictureOf(sight.document));
    this.model.set("step", this.state.c ?? NO_STEP);
    if (!this.drawn) render({ model: this.model, el: this.picture });
    this.drawn = true;
    this.gallery.say(sight.document.words);
    this.facts.show(sight.document, sight.layouts);
  }

  private say(wrong: Wrong | null): void {
    const { where, fault } = wrong ?? { where: null, fault: null };
    const field = where === "e" || where === "e2";
    this.first.fault(where === "e" ? fault : null);
    this.second.fault(where === "e2" ? fault : null);
    this.controls.fault(field ? null : where, fault && !field ? fault : null);
  }

  private paint(): void {
    const theme = this.themeNow();
    const other = theme === "dark" ? "Light" : "Dark";
    this.el.dataset.theme = theme;
    this.table.setAttribute("aria-pressed", String(this.hasTable()));
    this.theme.textContent = other;
    this.theme.setAttribute("aria-label", `${other} theme`);
    document.documentElement.style.background = theme === "dark" ? "#14161a" : "#ffffff";
    this.model.set("theme", theme);
  }

  private themeNow(): Theme {
    return this.state.t ?? (this.dark.matches ? "dark" : "light");
  }

  /** A theme that is the reader's own anyway is not said in the address. */
  private setTheme(theme: Theme): void {
    if (theme === this.themeNow()) return;
    const own = this.dark.matches ? "dark" : "light";
    this.state = { ...this.state, t: theme === own ? undefined : theme };
    this.paint();
    this.write("later");
  }

  private hasTable(): boolean {
    return (this.model.get("options") as typeof OPTIONS).table;
  }

  /** The whole address of what is shown. */
  private link(): string {
    return location.href.replace(/#.*$/s, "") + this.fragment();
  }

  private fragment(): string {
    const { p, ...state } = this.state;
    if (!p) return toFragment(state);
    const short: State = { v: 1, e: "", p, i: state.i, c: state.c, t: state.t };
    return toFragment(short);
  }

  /** Puts what is shown into the address bar; typing is written when it rests. */
  private write(when: "later" | "replace" | "push"): void {
    clearTimeout(this.writing);
    if (when === "later") {
      this.writing = setTimeout(() => this.write("replace"), PATIENCE);
      return;
    }
    const fragment = this.fragment();
    if (fragment === location.hash) return;
    if (when === "push") history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  }

  private tell(words: string): void {
    this.told.textContent = words;
    setTimeout(() => {
      if (this.told.textContent === words) this.told.textContent = "";
    }, 4000);
  }

  private key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if ((event.target as HTMLElement).closest("input, textarea, select, [contenteditable]")) return;
    if (event.key !== "/") return;
    event.preventDefault();
    this.first.input.focus();
    this.first.input.select();
  }

  private toggleTable(): void {
    this.model.set("options", { ...OPTIONS, table: !this.hasTable() });
  }
}

/** What the component draws: of a scene alone the page has the expression in its field, and the notes beside. */
function pictureOf(document: Document): Document {
  if (document.scenes.length > 1) return { ...document, title: "", words: "" };
  return { ...document, title: "", scenes: document.scenes.map((scene) => ({ ...scene, title: "", expression: "", notes: [] })) };
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
