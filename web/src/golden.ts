/** What Python says of many layouts and texts, held against this evaluator: for tests, not in the bundle. */

import { cudaIndex, extremes, LayoutError, points, table, who, type Layout, type Vector } from "./core";
import "./hardware";
import { print, printCute, pythonText, read, type Reading } from "./notation";

export { sceneDifferences } from "./scene/golden";
export { askedDifferences } from "./scene/goldenasked";

/** A number, or text for one beyond 2^53. */
type Exact = number | string;
type Nested = Exact | readonly Nested[];

interface Answers {
  text: string;
  canonical: string;
  cute: string | null;
  python: string;
  shape: Nested;
  size: Exact;
  copies: Exact | null;
  axes: readonly (readonly [string, string])[];
  /** Null where Python did not decide. */
  extremes: readonly (readonly [Exact, Exact] | null)[];
  flats: readonly Exact[];
  /** points[i][c][a]: copy c of index flats[i] on axis a. */
  points: readonly (readonly (readonly Exact[])[])[];
}

interface Refusal {
  text: string;
  code: string;
  message: string;
  hint: string;
  span: readonly [number, number] | null;
}

/** The file of golden answers. */
export interface Golden {
  let: Readonly<Record<string, number>>;
  storage: readonly string[];
  layouts: readonly Answers[];
  faulty: readonly Refusal[];
}

const SCANNED = 64n;

/** Every difference in a line: what was asked, what Python says, what is said here. */
export function differences(golden: Golden): string[] {
  const options = optionsOf(golden);
  return [
    ...golden.layouts.flatMap((answers) => inLayout(answers, options)),
    ...golden.faulty.flatMap((refusal) => inRefusal(refusal, options)),
  ];
}

/** The index of each layout in CUDA C++, or null. */
export function codes(golden: Golden): (string | null)[] {
  const options = optionsOf(golden);
  return golden.layouts.map(({ text }) => cudaIndex(read(text, options)));
}

function optionsOf(golden: Golden): Reading {
  const values = Object.entries(golden.let).map(([name, value]): [string, bigint] => [name, BigInt(value)]);
  return { let: Object.fromEntries(values), storage: golden.storage };
}

function inLayout(asked: Answers, options: Reading): string[] {
  const layout = attempt(() => read(asked.text, options));
  if (layout instanceof LayoutError) return [`${asked.text}: refused, ${layout.code} ${layout.message}`];
  const again = attempt(() => read(asked.canonical, options));
  const here = asked.points.length ? asked.flats.map((flat) => points(layout, BigInt(flat))) : [];
  const told: [string, unknown, unknown][] = [
    ["text", asked.canonical, print(layout)],
    ["text read back", asked.canonical, again instanceof Error ? again.message : print(again)],
    ["CuTe", asked.cute, printCute(layout)],
    ["Python", asked.python, pythonText(layout)],
    ["shape", asked.shape, layout.shape],
    ["size", asked.size, layout.size],
    ["copies", asked.copies, valueOr(() => layout.copies, null)],
    ["axes", asked.axes, layout.axes.map((axis) => [axis.name, axis.kind])],
    ["points", asked.points, here.map((copies) => copies.map((place) => Object.values(place)))],
    ["table", asked.points.flat(), asked.flats.length ? rowsOf(layout, asked.flats) : []],
    ...asked.extremes.map((ends, i): [string, unknown, unknown] => {
      const axis = layout.axes[i]?.name ?? "";
      return [`ends on ${axis}`, ends, ends && valueOr(() => extremes(layout, axis), null)];
    }),
    ...(layout.size <= SCANNED ? found(layout, asked.flats, here) : []),
  ];
  return told
    .filter(([, there, found]) => spelled(there) !== spelled(found))
    .map(([what, there, found]) => `${asked.text}: ${what}: ${difference(there, found)}`);
}

/** The places that a table has of some indices, copy after copy. */
function rowsOf(layout: Layout, flats: readonly Exact[]): bigint[][] {
  const columns = Object.values(table(layout, flats.map((flat) => BigInt(flat))));
  const length = columns[0]?.length ?? 0;
  return Array.from({ length }, (_, at) => columns.map((column) => BigInt(column[at] ?? 0)));
}

/** That an index is among those at its places, and that whole tables have what single points are. */
function found(
  layout: Layout,
  flats: readonly Exact[],
  here: readonly Vector[][],
): [string, unknown, unknown][] {
  const every = Array.from({ length: Number(layout.size) }, (_, flat) => points(layout, BigInt(flat)));
  const columns = Object.values(table(layout, { from: 0, to: every.length }));
  const rows = every.flat().map((_, at) => columns.map((column) => column[at]));
  const [first = []] = here;
  const [flat = -1] = flats;
  return [
    ["whole table", every.flat().map((place) => Object.values(place)), rows],
    ["who", true, first.every((place) => who(layout, place).includes(Number(flat)))],
  ];
}

function inRefusal(asked: Refusal, options: Reading): string[] {
  const refused = attempt(() => read(asked.text, options));
  const shown = asked.text.slice(0, 80);
  if (!(refused instanceof LayoutError)) return [`${shown}: ${asked.code} in Python, read here`];
  const { code, message, hint, span } = refused;
  const there = [asked.code, asked.message, asked.hint, asked.span];
  const here = [code, message, hint, span];
  return spelled(there) === spelled(here) ? [] : [`${shown}: ${difference(there, here)}`];
}

function difference(there: unknown, here: unknown): string {
  return `${spelled(there)} in Python, ${spelled(here)} here`;
}

function attempt<T>(ask: () => T): T | LayoutError {
  try {
    return ask();
  } catch (error) {
    if (error instanceof LayoutError) return error;
    throw error;
  }
}

function valueOr<T>(ask: () => T, otherwise: T | null): T | null {
  const value = attempt(ask);
  return value instanceof LayoutError ? otherwise : value;
}

/** As JSON, with every number as its digits. */
function spelled(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "number" || typeof part === "bigint" ? `${part}` : part,
  );
}

