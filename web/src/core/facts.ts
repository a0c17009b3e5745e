/** The ends of a layout on an axis, by the number of its digits and not of its elements. */

import { merged, runsOf } from "./copies";
import { LayoutError } from "./errors";
import { floorDivided, modulo } from "./integers";
import type { Layout } from "./layout";
import { applied, periodOf, undone } from "./swizzles";

const MAX_SUMS = 1 << 16;

/** The least and the largest place on an axis over all elements and copies; both 0 on one that it lacks. */
export function extremes(layout: Layout, axis: string): [bigint, bigint] {
  const [low, high] = plainExtremes(layout, axis);
  if (layout.swizzledAxis?.name !== axis) return [low, high];
  const outer = layout.outer[axis] ?? 0n;
  const sums = new Sums(layout, axis);
  return [end(layout, sums, low, false) + outer, end(layout, sums, high, true) + outer];
}

/** The ends on an axis before any swizzle. */
export function plainExtremes(layout: Layout, axis: string): [bigint, bigint] {
  let low = layout.offset[axis] ?? 0n;
  let high = low;
  for (const { extent, stride } of [...layout.digits, ...layout.replica]) {
    const reach = (extent - 1n) * (stride[axis] ?? 0n);
    if (reach < 0n) low += reach;
    else high += reach;
  }
  return [low, high];
}

/** The end after the swizzles: they permute each aligned period, so it lies in that of the end before. */
function end(layout: Layout, sums: Sums, edge: bigint, largest: boolean): bigint {
  const swizzles = layout.swizzles.filter((swizzle) => swizzle.bits);
  const period = periodOf(swizzles);
  const block = edge - modulo(edge, period);
  if (!swizzles.every((swizzle) => swizzle.shift > 0)) {
    const places = sums.within(block, block + period - 1n);
    const moved = Array.from(places, (place) => applied(swizzles, place));
    return moved.reduce((best, place) => (place > best === largest ? place : best));
  }
  // bit by bit from the top: high bits after the swizzles fix those before them
  let prefix = block;
  for (let bit = period >> 1n; bit; bit >>= 1n) {
    const wanted = largest ? prefix + bit : prefix;
    const start = undone(swizzles, wanted) & -bit;
    prefix = !sums.within(start, start + bit - 1n).next().done === largest ? prefix + bit : prefix;
  }
  return prefix;
}

/** What is looked for, the sums that were met at each digit, and how many more may be. */
interface Search {
  readonly low: bigint;
  readonly high: bigint;
  readonly seen: readonly Set<bigint>[];
  left: number;
}

/** The places of a layout on one axis before any swizzle, as a set that can be asked. */
class Sums {
  readonly #start: bigint;
  readonly #runs: readonly { extent: bigint; step: bigint; rest: bigint }[];

  constructor(layout: Layout, axis: string) {
    const { start, runs } = merged(runsOf([...layout.digits, ...layout.replica], [axis]));
    this.#start = (layout.offset[axis] ?? 0n) + (start[0] ?? 0n);
    let rest = 0n;
    const upward = runs.map(({ extent, step: [step = 0n] }) => {
      const run = { extent, step, rest };
      rest += (extent - 1n) * step;
      return run;
    });
    this.#runs = upward.reverse();
  }

  /** The places in [low, high], each once. */
  within(low: bigint, high: bigint): Generator<bigint> {
    const seen = [...this.#runs, null].map(() => new Set<bigint>());
    return this.#from(0, this.#start, { low, high, seen, left: MAX_SUMS });
  }

  *#from(depth: number, place: bigint, search: Search): Generator<bigint> {
    const { low, high, seen } = search;
    if (seen[depth]!.has(place)) return;
    seen[depth]!.add(place);
    if (!search.left--) {
      throw new LayoutError("TW303", "the ends of the swizzled places were not decided within the bound");
    }
    const run = this.#runs[depth];
    if (!run) {
      if (low <= place && place <= high) yield place;
      return;
    }
    const least = -floorDivided(place + run.rest - low, run.step);
    const most = floorDivided(high - place, run.step);
    const last = most < run.extent ? most : run.extent - 1n;
    for (let digit = least > 0n ? least : 0n; digit <= last; digit++) {
      yield* this.#from(depth + 1, place + digit * run.step, search);
    }
  }
}
