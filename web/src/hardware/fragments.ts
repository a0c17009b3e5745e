/** Accesses of register fragments: each lane moves what it holds, in the order of its registers. */

import { layoutOf } from "./catalogue";
import {
  LayoutError,
  Refusal,
  extentsOf,
  extremes,
  matrixOf,
  print,
  read,
  table,
  vectorsOf,
  type Layout,
  type Pattern,
  type Stored,
} from "./kit";

const LANES = 32;
/** Threads, whose numbers are a warp and a lane. */
const THREADS = ["tx", "tid_in_wg"];
const HOLDERS = ["laneid", ...THREADS];

/** The pattern of a call, of `wgmma.D:f32:n64`, or of a layout of lanes; null of any other text. */
export function fragmentOf(name: string, stored: Stored): Pattern | null {
  const call = layoutOf(name, stored.dtype.name);
  if (call === null && !/[[(].*@\s*(laneid|tid_in_wg|tx)\b/s.test(name)) return null;
  const layout = read(call ?? name);
  if (!layout.axes.some((axis) => HOLDERS.includes(axis.name))) return null;
  const operation = call !== null && /^[^(:]*\.D\b/.test(name) ? "st" : "ld";
  return patternOf(layout, stored, call === null ? print(layout) : name, operation);
}

/** What lanes hold, part after part of the tile, warp after warp. */
function patternOf(fragment: Layout, stored: Stored, name: string, operation: string): Pattern {
  const { element, warps, lanes, held } = holdersOf(fragment);
  if (lanes > LANES) throw new LayoutError("TW201", `${lanes} lanes, and a warp has ${LANES}`);
  const slots = warps * lanes * held;
  const modes = extentsOf(fragment.shape).map(Number);
  const isWhole = Number(fragment.size) === stored.size && isFlat(extentsOf(stored.layout.shape).map(Number), modes);
  const [rows, columns] = isWhole ? [1, stored.size] : matrixOf(stored, "a fragment is a part");
  const [high = 1, wide = 1] = isWhole ? [1, stored.size] : modes;
  if (!isWhole && modes.length !== 2) {
    throw new Refusal("TW610", `a fragment has rows and columns, not ${modes.length} modes`);
  }
  if (rows % high || columns % wide) {
    throw new Refusal("TW610", `one part is ${high} x ${wide} elements, and the tile has ${rows} x ${columns}`);
  }
  const across = columns / wide;
  const flat = (at: number): number => {
    const [part, inside] = [Math.floor(at / slots), element.get(at % slots)!];
    const row = Math.floor(part / across) * high + Math.floor(inside / wide);
    return row * columns + (part % across) * wide + (inside % wide);
  };
  return { name, operation, bytes: null, index: vectorsOf((rows / high) * across * warps, lanes, held, flat) };
}

interface Holders {
  /** The element of each register of each lane of each warp. */
  readonly element: ReadonlyMap<number, number>;
  readonly warps: number;
  readonly lanes: number;
  readonly held: number;
}

function holdersOf(fragment: Layout): Holders {
  const places = table(fragment, { from: 0, to: Number(fragment.size) });
  const copies = Number(fragment.copies);
  const count = Number(fragment.size) * copies;
  const ranks = ["", "laneid", "reg"];
  const extents = [1, 1, 1];
  const holder = new Float64Array(count);
  const parts = fragment.axes.flatMap(({ name }) => {
    const values = places[name]!;
    const [low, high] = extremes(fragment, name).map(Number) as [number, number];
    const of = (at: number): number => Number(values[at]);
    if (!THREADS.includes(name)) return [{ rank: Math.max(0, ranks.indexOf(name)), low, high, of }];
    const [first, last] = [Math.floor(low / LANES), Math.floor(high / LANES)];
    const warp = { rank: 0, low: first, high: last, of: (at: number) => Math.floor(of(at) / LANES) };
    const lane = { rank: 1, low: low < 0 ? low : 0, high: Math.min(high, LANES - 1), of: (at: number) => of(at) % LANES };
    return [warp, lane];
  });
  for (const { rank, low, high, of } of parts.sort((a, b) => a.rank - b.rank)) {
    const first = rank ? 0 : low;
    const extent = high - first + 1;
    if (low < first) throw idle();
    extents[rank]! *= extent;
    for (let at = 0; at < count; at++) holder[at] = holder[at]! * extent + of(at) - first;
  }
  const [warps, lanes, held] = extents as [number, number, number];
  const element = new Map(Array.from(holder, (who, at) => [who, Math.floor(at / copies)]));
  if (warps * lanes * held !== element.size || element.size < count) throw idle();
  return { element, warps, lanes, held };
}

function idle(): Refusal {
  return new Refusal("TW610", "some lane holds nothing, or something twice, and the lanes of an instruction move alike");
}

/** Whether a fragment of the tile's size is it, index by index: modes of one are parts of the other's. */
function isFlat(tile: readonly number[], fragment: readonly number[]): boolean {
  const [one, other] = [tile, fragment].map((extents) => {
    let product = 1;
    return new Set(extents.map((extent) => (product *= extent)));
  }) as [Set<number>, Set<number>];
  return [...one].every((end) => other.has(end)) || [...other].every((end) => one.has(end));
}
