/** What is true of all elements of a scene, in sentences. */

import type { Gathered } from "./gather";
import { extent } from "./lines";
import { product, type Logical } from "./logical";
import { inPieces, type Work } from "./pieces";
import type { Axis, Note } from "./types";

const EXACT = 1n << 53n;
/** So many places have a slot each; far ones are scattered over slots, four for each of them. */
const MOST_IN_ARRAY = 1 << 22;
const SCATTER = 0x9e3779b1;

const LIMITS: ReadonlyMap<string, readonly [number, string]> = new Map([
  ["TLane", [128, "lane of tensor memory, never scaled"]],
  ["laneid", [32, "lane of the warp (64 on CDNA)"]],
  ["wid_in_wg", [4, "warp in its warpgroup"]],
  ["tid_in_wg", [128, "thread in its warpgroup"]],
]);
const WAVE = 64;

/** The facts of a scene; of a window only which one it is. */
export function* notesOf(part: Logical, found: Gathered, bits: number | null): Work<Note[]> {
  if (!part.whole) return [fact(windowWords(part))];
  const copies = found.copies > 1 ? [fact(`every element has ${found.copies} copies`)] : [];
  const said = yield* oneToOne(found);
  return [fact(sizeWords(part, found.axes, bits)), ...copies, fact(said), ...leftBehind(found.axes)];
}

function fact(text: string): Note {
  return { kind: "fact", text };
}

function elements(size: bigint): string {
  return `${size} element${size === 1n ? "" : "s"}`;
}

function windowWords(part: Logical): string {
  const [[top, bottom], [left, right]] = part.window;
  const [rows, columns] = [product(part.rows), product(part.columns)];
  const shown = `rows ${top}..${bottom - 1} of ${rows}, columns ${left}..${right - 1} of ${columns}`;
  return `${shown}; the layout has ${elements(part.size)}`;
}

function sizeWords(part: Logical, axes: readonly Axis[], bits: number | null): string {
  const ends = axes.map((axis) => `${axis.name} = ${axis.low}..${axis.high}`).join(", ");
  const said = `${elements(part.size)} at ${ends}`;
  const [axis] = axes;
  if (axes.length > 1 || !axis || axis.kind !== "storage" || bits === null) return said;
  return `${said}: ${Math.ceil((extent(axis) * bits) / 8)} B`;
}

function* oneToOne(found: Gathered): Work<string> {
  const room = found.axes.reduce((size, axis) => size * BigInt(extent(axis)), 1n);
  const { taken, shared } = yield* takenOf(found, room);
  const said = shared
    ? `not one to one: elements ${shared[0]} and ${shared[1]} share ${placeWords(found, shared[2])}`
    : "one to one";
  if (room > EXACT) return said;
  const holes = room - BigInt(taken);
  if (!holes) return shared ? said : `${said}, without holes`;
  return `${said}; ${holes} ${holes === 1n ? "place between holds" : "places between hold"} nothing`;
}

/** A place for a sentence. */
export function placeWords({ axes, places }: Pick<Gathered, "axes" | "places">, at: number): string {
  return axes.map((axis) => `${places[axis.name]![at]}@${axis.name}`).join(" + ");
}

interface Taken {
  taken: number;
  /** Two elements that share a place, and the entry at which the second meets the first. */
  shared: [number, number, number] | null;
}

function* takenOf(found: Gathered, room: bigint): Work<Taken> {
  const keys = yield* keysOf(found, room);
  const firsts = yield* firstsOf(keys, room > EXACT ? keys.length : Number(room));
  const elementOf = (entry: number): number => Math.floor(entry / found.copies);
  let [taken, shared]: [number, Taken["shared"]] = [0, null];
  yield* inPieces(keys.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const first = firsts[at]!;
      if (first === at) taken++;
      else if (!shared && elementOf(first) !== elementOf(at)) shared = [elementOf(first), elementOf(at), at];
    }
  });
  return { taken, shared };
}

/** A key for every place, equal where the places are. */
function* keysOf({ axes, places }: Gathered, room: bigint): Work<Float64Array> {
  let keys: Float64Array = new Float64Array(places[axes[0]!.name]!.length);
  for (const axis of axes) {
    const values = places[axis.name]!;
    const far = room > EXACT; // entries are few enough that products of two stay exact
    const [added, low] = far ? [yield* firstsOf(values, Infinity), 0] : [values, axis.low];
    const many = far ? keys.length : extent(axis);
    const sums = keys;
    yield* inPieces(sums.length, (from, to) => {
      for (let at = from; at < to; at++) sums[at] = sums[at]! * many + added[at]! - low;
    });
    if (far) keys = new Float64Array(yield* firstsOf(sums, Infinity));
  }
  return keys;
}

/** Of each key the first entry that has it; keys are whole numbers, from 0 to `end` where that is near. */
function* firstsOf(keys: Float64Array, end: number): Work<Int32Array> {
  const room = end > MOST_IN_ARRAY ? 4 * keys.length : end;
  const slots = new Int32Array(room).fill(-1);
  const firsts = new Int32Array(keys.length);
  yield* inPieces(keys.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const key = keys[at]!;
      let slot = room === end ? key : (Math.imul(key % SCATTER, SCATTER) >>> 10) % room;
      while (slots[slot]! >= 0 && keys[slots[slot]!] !== key) slot = (slot + 1) % room;
      if (slots[slot]! < 0) slots[slot] = at;
      firsts[at] = slots[slot]!;
    }
  });
  return firsts;
}

function leftBehind(axes: readonly Axis[]): Note[] {
  return axes.flatMap((axis): Note[] => {
    const [limit, counts] = LIMITS.get(axis.name) ?? [Infinity, ""];
    if (limit === Infinity || (axis.low >= 0 && axis.high < limit)) return [];
    const end = axis.low < 0 ? axis.low : axis.high;
    const isWave = axis.name === "laneid" && axis.low >= 0 && axis.high < WAVE;
    const why = isWave ? ": a wave of CDNA has lanes 0 to 63, and a warp 0 to 31" : `, and goes from 0 to ${limit - 1}: ${counts}`;
    return [{ kind: "hint", text: `${axis.name} reaches ${end}${why}` }];
  });
}
