/** The copies of an element: R as a set of distinct steps. */

import { LayoutError } from "./errors";
import type { Iter, Layout } from "./layout";

/** Steps on the axes of a layout, in their order. */
export type Point = readonly bigint[];

/** A digit whose step is a point. */
export interface Run {
  readonly extent: bigint;
  readonly step: Point;
}

const MAX_COPIES = 1 << 16;

/** The distinct copies, sorted; refused where there are more than can be listed. */
export function copiesOf(layout: Layout): Point[] {
  const { start, runs } = merged(runsOf(layout.replica, layout.axes.map((axis) => axis.name)));
  if (runs.reduce((size, run) => size * run.extent, 1n) > MAX_COPIES) {
    throw new LayoutError(
      "TW301",
      `an element with more than ${MAX_COPIES} copies cannot list its places`,
      "ask about the map without R, or about one place with who",
    );
  }
  let points: Point[] = [start.length ? start : layout.axes.map(() => 0n)];
  for (const { extent, step } of runs) {
    const times = Array.from({ length: Number(extent) }, (_, n) => BigInt(n));
    points = points.flatMap((point) => times.map((n) => point.map((x, i) => x + n * step[i]!)));
  }
  points.sort(inOrder);
  return points.filter((point, i) => i === 0 || inOrder(points[i - 1]!, point) !== 0);
}

/** Iters with their strides as points on some axes. */
export function runsOf(iters: readonly Iter[], axes: readonly string[]): Run[] {
  return iters.map(({ extent, stride }) => ({ extent, step: axes.map((axis) => stride[axis] ?? 0n) }));
}

/**
 * The same set of sums with fewer digits: none that stand still, all upward from `start`, and (e, s) with
 * (f, q s), 1 <= q <= e, joined to (e + q (f - 1), s).
 */
export function merged(given: readonly Run[]): { start: Point; runs: Run[] } {
  let start = (given[0]?.step ?? []).map(() => 0n);
  const runs: Run[] = [];
  for (const { extent, step } of given) {
    const leading = step.find((x) => x !== 0n);
    if (extent === 1n || leading === undefined) continue;
    const up = leading > 0n;
    if (!up) start = start.map((x, i) => x + step[i]! * (extent - 1n));
    runs.push({ extent, step: up ? step : step.map((x) => -x) });
  }
  runs.sort((a, b) => inOrder(a.step, b.step));
  for (let i = 0; i < runs.length; i++) {
    for (let j = i + 1; j < runs.length; j++) {
      const fine = runs[i]!;
      const q = multipleOf(runs[j]!.step, fine.step);
      if (q === null || q > fine.extent) continue;
      runs[i] = { ...fine, extent: fine.extent + q * (runs[j]!.extent - 1n) };
      runs.splice(j, 1);
      [i, j] = [0, 0]; // a longer digit may take in those that it did not
    }
  }
  return { start, runs };
}

/** q with point = q * unit and q >= 1, or null. */
function multipleOf(point: Point, unit: Point): bigint | null {
  const leading = unit.findIndex((x) => x !== 0n);
  const q = point[leading]! / unit[leading]!;
  return q >= 1n && point.every((x, i) => x === q * unit[i]!) ? q : null;
}

/** Points in the order of their numbers from left to right. */
export function inOrder(a: Point, b: Point): number {
  const at = a.findIndex((x, i) => x !== b[i]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
