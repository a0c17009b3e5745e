/** What an engine asks for, as what it adds to a scene. */

import { MOST_STEPS, cut, type Asked, type Note, type Step } from "./kit";

/** The first steps of some parts, a yes with its hints, and a hint where steps are not all. */
export function askedWith<T>(
  name: string,
  parts: readonly T[],
  stepOf: (part: T, number: number) => Step,
  noun: string,
  text: string,
  hints: readonly string[],
): Asked {
  const said = hints.map((hint): Note => ({ kind: "hint", text: hint }));
  const notes: Note[] = [{ kind: "yes", text }, ...said, ...cut(parts.length, noun)];
  return { name, steps: parts.slice(0, MOST_STEPS).map(stepOf), notes };
}

/** No step, and why there is none. */
export function refusedAsked(name: string, why: string, hint: string): Asked {
  return { name, steps: [], notes: [{ kind: "no", text: `${name}: ${why}` }, { kind: "hint", text: hint }] };
}
