/** What panels share: the colours, what is lit, and what a pointer or a key asks for. */

import type { Palette } from "./palette";

/** Pins alone, and off where they are alone already; a range, alone in any case; on besides others, or off. */
export type Pinning = "only" | "range" | "toggle";

/** A cell that is looked at, and where. */
export interface Glance {
  /** Flat indices of the elements in it. */
  elements: readonly number[];
  scene: number;
  panel: string;
  /** The cell in words, for when it is empty. */
  where: string;
}

export interface Desk {
  palette(): Palette;
  glance(at: Glance | null): void;
  pin(elements: readonly number[], how: Pinning): void;
}
