/** What an access adds to a scene. */

import type { Note, Step } from "./types";

/** An access by its name, with its steps, and what is true of all of it. */
export interface Asked {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly notes: readonly Note[];
}

/** So many wavefronts, instructions or boxes are steps. */
export const MOST_STEPS = 128;

/** That not all are steps, where it is so. */
export function cut(total: number, noun: string): Note[] {
  if (total <= MOST_STEPS) return [];
  return [{ kind: "hint", text: `the first ${MOST_STEPS} of ${total} ${noun} are steps` }];
}
