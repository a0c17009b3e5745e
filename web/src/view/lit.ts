/** What is lit: the elements that are pinned, and those of the step. */

import { coloursOf, elementsOf, flatOf, gridColumns, positionOf } from "../scene/cells";
import type { Work } from "../scene/pieces";
import type { Scene, Step } from "../scene/types";

/** How an element is drawn, besides its colour; where several share a cell, the greatest is seen. */
export const FADED = 0;
export const PLAIN = 1;
export const STRONG = 2;

/** How an element is drawn and its colour in a number; 0 is of none. */
export function rankOf(how: number, colour: number): number {
  return 1 + 8 * how + colour;
}

/** A scene with the light on it. Elements are positions in the scene; flat indices are for all scenes. */
export class Lit {
  readonly count: number;
  /** All 0 before they are there. */
  colours: Uint8Array;
  /** How each element is drawn. */
  readonly how: Uint8Array;
  /** How the others are drawn, besides those elements that are lit `more`, in their order. */
  least = PLAIN;
  more: Int32Array = new Int32Array(0);
  /** Copies from this one on are not there yet. */
  copies: number;
  step: Step | null = null;
  /** The window has all columns from the first row on, so that positions are flat indices. */
  private readonly whole: boolean;
  private lanes = new Map<number, number[]>();

  constructor(readonly scene: Scene) {
    this.count = elementsOf(scene);
    this.colours = new Uint8Array(this.count);
    this.how = new Uint8Array(this.count);
    this.copies = scene.copies;
    const [[top], [left, right]] = scene.window;
    this.whole = top === 0 && left === 0 && right === gridColumns(scene) && scene.order !== "cute";
  }

  /** Find the colours of all elements. */
  *colour(): Work<void> {
    this.colours = yield* coloursOf(this.scene);
  }

  flat(position: number): number {
    return this.whole ? position : flatOf(this.scene, position);
  }

  /** The position of a flat index; -1 where the scene does not have it. */
  position(flat: number): number {
    if (!Number.isSafeInteger(flat) || flat < 0) return -1;
    if (this.whole) return flat < this.count ? flat : -1;
    return positionOf(this.scene, flat);
  }

  /** The positions of those flat indices that the scene has. */
  known(flats: readonly number[]): number[] {
    return flats.map((flat) => this.position(flat)).filter((position) => position >= 0);
  }

  /** The positions of what is pinned, in their order. */
  pinned(): number[] {
    const found: number[] = [];
    for (const position of this.more) if (this.how[position] === STRONG) found.push(position);
    return found;
  }

  /** Lanes that ask for an element in the step. */
  lanesOf(position: number): readonly number[] {
    return this.lanes.get(position) ?? [];
  }

  /** Light what is pinned, in a step that moves some elements. */
  light(pins: readonly number[], step: Step | null): void {
    this.step = step;
    this.copies = Math.min(step?.copies ?? this.scene.copies, this.scene.copies);
    this.lanes.clear();
    const moving = step !== null && step.elements.length > 0;
    this.least = moving || (step === null && pins.some((flat) => this.position(flat) >= 0)) ? FADED : PLAIN;
    this.how.fill(this.least);
    if (moving) {
      step.elements.forEach((flat, i) => {
        const position = this.position(flat);
        if (position < 0) return;
        this.how[position] = PLAIN;
        const lane = step.lanes[i];
        if (lane === undefined) return;
        const known = this.lanes.get(position);
        if (known) known.push(lane);
        else this.lanes.set(position, [lane]);
      });
    }
    for (const flat of pins) {
      const position = this.position(flat);
      if (position >= 0) this.how[position] = STRONG;
    }
    this.more = this.positionsOfMore();
  }

  /** The rank of an entry; 0 where it is not there yet. */
  rank(entry: number): number {
    const { copies } = this.scene;
    const position = copies === 1 ? entry : Math.floor(entry / copies);
    if (entry - position * copies >= this.copies) return 0;
    return rankOf(this.how[position]!, this.colours[position]!);
  }

  private positionsOfMore(): Int32Array {
    const { how, least } = this;
    const found = new Int32Array(this.count);
    let many = 0;
    for (let position = 0; position < how.length; position++) if (how[position]! > least) found[many++] = position;
    return found.slice(0, many);
  }
}
