/** The steps: one at a time, by a scrubber, buttons or keys; nothing plays by itself. */

import type { Scene } from "../scene/types";
import { button, make, short } from "./dom";
import { encodedTable } from "./encoded";

/** No step: all of the scene. */
export const NO_STEP = -1;

export class Player {
  readonly element: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly words = make("span", { class: "mono" });
  private readonly back: HTMLButtonElement;
  private readonly next: HTMLButtonElement;
  private at = NO_STEP;

  constructor(
    readonly count: number,
    private readonly go: (step: number) => void,
  ) {
    this.range = make("input", { type: "range", min: NO_STEP, max: count - 1, step: 1, "aria-label": "Step" });
    this.range.addEventListener("input", () => this.go(Number(this.range.value)));
    this.back = button("‹", "Step back", () => this.go(this.at - 1));
    this.next = button("›", "Step on", () => this.go(this.at + 1));
    this.element = make("div", { class: "player", role: "group", "aria-label": "Steps" });
    this.element.append(this.back, this.range, this.next, this.words);
    this.element.hidden = count === 0;
  }

  /** Show a step. */
  show(step: number): void {
    this.at = step;
    const said = step === NO_STEP ? `all of ${this.count} steps` : `step ${step + 1} of ${this.count}`;
    this.range.value = String(step);
    this.range.setAttribute("aria-valuetext", said);
    this.words.textContent = said;
    this.back.disabled = step <= NO_STEP;
    this.next.disabled = step >= this.count - 1;
  }
}

/** What a step of a scene is, and what it costs. */
export function stepWords(scene: Scene, at: number): Node[] {
  const step = scene.steps[at];
  if (!step) {
    const titles = scene.steps.map(({ title }) => short(title, 80));
    const all = titles.length > 4 ? `${titles.length} steps` : `steps: ${titles.join("; ")}`;
    return [document.createTextNode(titles.length ? all : "")];
  }
  const rest: string[] = [];
  if (step.cost !== null) rest.push(wavefronts(step.cost));
  if (step.note) rest.push(short(step.note));
  if (step.lanes.length) rest.push("cells with room for it name the lane that asks");
  const said = rest.map((text) => ` · ${text}`).join("");
  const word = step.encoded ? [encodedTable(step.encoded)] : [];
  return [make("b", {}, short(step.title, 200)), document.createTextNode(said), ...word];
}

function wavefronts(count: number): string {
  return `${count} ${count === 1 ? "wavefront" : "wavefronts"}`;
}
