/** What Python says of many accesses, held against this builder: for tests, not in the bundle. */

import { LayoutError, byCoordinates, dtypeOf } from "../core";
import { read } from "../notation";
import { askedOf } from "./access";
import { atOnce } from "./pieces";
import type { Encoded, Step } from "./types";

interface Case {
  e: string;
  dtype: string;
  access: string;
  base?: number;
  /** Code and message; nothing of them where the words are Python's own. */
  refused?: readonly string[];
  name?: string;
  /** The kinds alone where there are no steps. */
  notes?: readonly string[];
  steps?: readonly (readonly (string | number | null)[])[];
  /** How many, and a number that knows of every element and lane. */
  all?: readonly number[];
  encoded?: readonly (Encoded | null)[];
}

/** The file of golden accesses. */
export interface GoldenAsked {
  cases: readonly Case[];
}

const FIRST = 4;

/** Every difference in a line: what was asked, what Python says, what is said here. */
export function askedDifferences(golden: GoldenAsked): string[] {
  return golden.cases.flatMap((asked) => {
    const { e, dtype, access, base = 0, ...there } = asked;
    const { refused, ...said } = answered(asked);
    const here = refused ? { refused: refused.slice(0, there.refused?.length) } : said;
    const names = Object.keys({ ...there, ...here }) as (keyof typeof there)[];
    const wrong = names.find((name) => JSON.stringify(there[name]) !== JSON.stringify((here as Partial<Case>)[name]));
    if (!wrong) return [];
    const both = [there, here].map((answer: Partial<Case>) => JSON.stringify(answer[wrong]) ?? "nothing");
    return [`${access} of ${e} in ${dtype} at ${base}, ${wrong}: ${both[0]} in Python, ${both[1]} here`];
  });
}

function answered({ e, dtype, access, base = 0 }: Case): Partial<Case> {
  try {
    const { name, steps, notes } = atOnce(askedOf(byCoordinates(read(e)), access, dtypeOf(dtype), base));
    return {
      name,
      notes: notes.map(({ kind, text }) => (steps.length ? `${kind}: ${text}` : kind)),
      steps: [...steps.slice(0, FIRST), ...steps.slice(FIRST).slice(-1)].map(brief),
      all: [steps.length, steps.reduce((sum, step) => sum + weight(step), 0)],
      encoded: [...steps.slice(0, 1), ...steps.slice(-1)].map((step) => step.encoded),
    };
  } catch (error) {
    if (error instanceof LayoutError) return { refused: [error.code, error.message] };
    throw error;
  }
}

function brief({ title, note, cost, encoded, elements, lanes }: Step): (string | number | null)[] {
  return [title, note, cost, encoded?.value ?? null, ...summed(elements), ...summed(lanes)];
}

function weight({ elements, lanes, cost }: Step): number {
  return [...summed(elements), ...summed(lanes), cost ?? 0].reduce((sum, number) => sum + number, 0);
}

function summed(numbers: readonly number[]): number[] {
  if (!numbers.length) return [0];
  const sum = numbers.reduce((total, number, at) => total + (at % 97) * number, 0);
  return [numbers.length, numbers[0]!, numbers[numbers.length - 1]!, sum];
}
