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

/** The first steps of some parts, a yes with its hint, and a hint where steps are not all. */
export function askedWith<T>(
  name: string,
  parts: readonly T[],
  stepOf: (part: T, number: number) => Step,
  noun: string,
  text: string,
  hint: string,
): Asked {
  const notes: Note[] = [{ kind: "yes", text }, { kind: "hint", text: hint }, ...cut(parts.length, noun)];
  return { name, steps: parts.slice(0, MOST_STEPS).map(stepOf), notes };
}

/** That not all are steps, where it is so. */
export function cut(total: number, noun: string): Note[] {
  if (total <= MOST_STEPS) return [];
  return [{ kind: "hint", text: `the first ${MOST_STEPS} of ${total} ${noun} are steps` }];
}

/** No step, and why there is none. */
export function refusedAsked(name: string, why: string, hint: string): Asked {
  return { name, steps: [], notes: [{ kind: "no", text: `${name}: ${why}` }, { kind: "hint", text: hint }] };
}
