/** What is true of all elements of a scene, in sentences. */

import type { Gathered } from "./gather";
import { extent } from "./lines";
import { product, type Logical } from "./logical";
import { inPieces, type Work } from "./pieces";
import type { Axis, Note } from "./types";

const EXACT = 1n << 53n;
/** So many places are looked up in one array. */
const MOST_IN_ARRAY = 1 << 22;

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
  const end = room > EXACT ? keys.length : Number(room);
  const array = end <= MOST_IN_ARRAY ? new Int32Array(end).fill(-1) : null;
  const map = new Map<number, number>();
  let [taken, shared]: [number, Taken["shared"]] = [0, null];
  yield* inPieces(keys.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const key = keys[at]!;
      const before = array ? array[key]! : (map.get(key) ?? -1);
      if (before < 0) {
        taken++;
        if (array) array[key] = at;
        else map.set(key, at);
        continue;
      }
      const [first, second] = [Math.floor(before / found.copies), Math.floor(at / found.copies)];
      if (!shared && first !== second) shared = [first, second, at];
    }
  });
  return { taken, shared };
}

/** A key for every place, equal where the places are. */
function* keysOf({ axes, places }: Gathered, room: bigint): Work<Float64Array> {
  let keys: Float64Array = new Float64Array(places[axes[0]!.name]!.length);
  for (const axis of axes) {
    const values = places[axis.name]!;
    const far = room > EXACT; // ranks are fewer than the places, so that products of two stay exact
    const [added, low] = far ? [yield* ranked(values), 0] : [values, axis.low];
    const many = far ? keys.length : extent(axis);
    const sums = keys;
    yield* inPieces(sums.length, (from, to) => {
      for (let at = from; at < to; at++) sums[at] = sums[at]! * many + added[at]! - low;
    });
    if (far) keys = yield* ranked(sums);
  }
  return keys;
}

/** The number of each value, in the order in which they come. */
function* ranked(values: Float64Array): Work<Float64Array> {
  const ranks = new Map<number, number>();
  const found = new Float64Array(values.length);
  yield* inPieces(values.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const known = ranks.get(values[at]!) ?? ranks.size;
      if (known === ranks.size) ranks.set(values[at]!, known);
      found[at] = known;
    }
  });
  return found;
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
