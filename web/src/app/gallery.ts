/** The presets, as a list of names; the one that is shown has its choices and its story below. */

import { make } from "../view/dom";
import { nameOf, presetOf, PRESETS, type Preset } from "./presets";

export interface Gallery {
  list: HTMLElement;
  /** The story of what is shown, and its choices. */
  story: HTMLElement;
  /** Marks the preset that is shown; null where the layout is one's own. */
  show(name: string | null): void;
  /** Says what has to move between two layouts; nothing of one alone. */
  say(words: string): void;
}

/** The list, and what stands above the picture; `pick` hears of a preset's name. */
export function gallery(pick: (name: string) => void): Gallery {
  const links = PRESETS.map((preset) => {
    const link = make("button", { type: "button", "data-preset": preset.id }, preset.title);
    link.addEventListener("click", () => pick(nameOf(preset, first(preset))));
    return link;
  });
  const items = links.map((link) => make("li", {}, link));
  const strip = make("ul", {}, ...items);
  const list = make("nav", { class: "gallery", "aria-label": "Examples" }, strip);
  const told = make("div");
  const moves = make("p", { class: "moves" });
  const story = make("div", { class: "story" }, told, moves);
  return {
    list,
    story,
    show(name) {
      const found = name ? presetOf(name) : null;
      for (const link of links) {
        if (link.dataset.preset !== found?.preset.id) link.removeAttribute("aria-current");
        else {
          link.setAttribute("aria-current", "true");
          strip.scrollLeft = link.offsetLeft - strip.offsetLeft - strip.clientWidth / 3; // where it is one line
        }
      }
      const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.option : undefined;
      told.replaceChildren(...(found ? tale(found.preset, found.chosen, pick) : []));
      if (focused) story.querySelector<HTMLElement>(`[data-option="${CSS.escape(focused)}"]`)?.focus();
    },
    say(words) {
      moves.textContent = words;
    },
  };
}

function tale(preset: Preset, chosen: readonly string[], pick: (name: string) => void): Node[] {
  const rows = preset.choices.map(({ name, options }, at) =>
    make(
      "div",
      { class: "choice", role: "group", "aria-label": name },
      ...options.map((option) => {
        const pressed = chosen[at] === option;
        const button = make("button", { type: "button", "aria-pressed": String(pressed), "data-option": option }, option);
        button.addEventListener("click", () => pick(nameOf(preset, chosen.map((old, i) => (i === at ? option : old)))));
        return button;
      }),
    ),
  );
  return [make("p", {}, preset.story(chosen)), ...rows];
}

function first(preset: Preset): string[] {
  return preset.choices.map(({ options }) => options[0] ?? "");
}
