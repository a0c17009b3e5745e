/** Places of elements: one by one, exactly, or many at once. */

import type { Point } from "./copies";
import { inOrder } from "./copies";
import { LayoutError } from "./errors";
import { plainExtremes } from "./facts";
import { abs } from "./integers";
import type { Layout } from "./layout";
import { applied, applyInPlace, applyToLarge, periodOf } from "./swizzles";
import { vectorOf, type Vector } from "./vectors";

const MAX_PLACES = 1 << 20;

/** Flat indices from `from` up to and without `to`. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Places by axis, copy after copy and element after element; bigints where numbers are not exact. */
export type Table = Readonly<Record<string, Float64Array | readonly bigint[]>>;

const EXACT = 1n << 53n;
const WORD = 1n << 31n;
const MOST_DIGIT_BITS = 30;

/** The distinct places of a flat index, sorted as Python's `places` are. */
export function points(layout: Layout, flat: bigint): Vector[] {
  return pointsOnAxes(layout, flat).map((point) =>
    vectorOf(layout.axes.map((axis, i): [string, bigint] => [axis.name, point[i]!])),
  );
}

function pointsOnAxes(layout: Layout, flat: bigint): Point[] {
  const place = layout.axes.map((axis) => layout.offset[axis.name] ?? 0n);
  for (const { extent, stride } of [...layout.digits].reverse()) {
    const digit = flat % extent;
    flat /= extent;
    layout.axes.forEach((axis, i) => (place[i]! += digit * (stride[axis.name] ?? 0n)));
  }
  const moved = layout.copySteps.map((copy) => copy.map((x, i) => x + place[i]!));
  const at = layout.axes.findIndex((axis) => axis.name === layout.swizzledAxis?.name);
  if (at < 0) return moved;
  for (const point of moved) point[at] = applied(layout.swizzles, point[at]!) + outerSteps(layout);
  return moved.sort(inOrder);
}

function outerSteps(layout: Layout): bigint {
  return layout.outer[layout.swizzledAxis?.name ?? ""] ?? 0n;
}

/** The places of many elements: table[axis][e * copies + c] is where copy c of the e-th of them is. */
export function table(layout: Layout, flats: Range | Float64Array | Iterable<number | bigint>): Table {
  const copies = layout.copySteps.length;
  const asked = "from" in flats ? null : flats instanceof Float64Array ? flats : [...flats];
  refuseMany(copies * ("from" in flats ? flats.to - flats.from : asked!.length));
  const isExact = layout.axes.map((axis) => isExactOn(layout, axis.name));
  if (layout.size < EXACT && isExact.every(Boolean)) {
    if ("from" in flats && !flats.from && BigInt(flats.to) === layout.size) {
      return fastTable(layout, layout.axes.map((axis) => wholeColumn(layout, axis.name)));
    }
    const indices = "from" in flats ? counted(flats) : Float64Array.from(asked!, Number);
    return fastTable(layout, columnsAt(layout, indices));
  }
  const listed: Iterable<number | bigint> = "from" in flats ? counted(flats) : asked!;
  const rows = Array.from(listed, (flat) => pointsOnAxes(layout, BigInt(flat))).flat();
  return byAxis(layout, (i) => {
    const column = rows.map((row) => row[i]!);
    return isExact[i] ? Float64Array.from(column, Number) : column;
  });
}

/** Whether the places of many elements are there at once: they are sums of numbers, and need no sorting. */
export function isFast(layout: Layout): boolean {
  const sorted = layout.swizzledAxis !== null && layout.copySteps.length > 1;
  return !sorted && layout.axes.every((axis) => isExactOn(layout, axis.name));
}

function isExactOn(layout: Layout, axis: string): boolean {
  return bound(layout, axis) < EXACT;
}

function counted({ from, to }: Range): Float64Array {
  const indices = new Float64Array(to - from);
  for (let i = 0; i < indices.length; i++) indices[i] = from + i;
  return indices;
}

function refuseMany(places: number): void {
  if (places <= MAX_PLACES) return;
  const [asked, most] = [places, MAX_PLACES].map((count) => count.toLocaleString("en"));
  const reason = `${asked} places at once; at most ${most} are listed`;
  throw new LayoutError("TW301", reason, "ask for a part of the layout");
}

function byAxis<T>(layout: Layout, make: (i: number) => T): Record<string, T> {
  const result = Object.create(null) as Record<string, T>;
  layout.axes.forEach((axis, i) => (result[axis.name] = make(i)));
  return result;
}

/** What no number on the way to a place on the axis exceeds, swizzled or not. */
function bound(layout: Layout, axis: string): bigint {
  const iters = [...layout.digits, ...layout.replica];
  const reach = iters.map(({ extent, stride }) => (extent - 1n) * abs(stride[axis] ?? 0n));
  const swizzled = layout.swizzledAxis?.name === axis ? periodOf(layout.swizzles) : 0n;
  const offsets = [layout.offset, layout.outer].map((vector) => abs(vector[axis] ?? 0n));
  return [...reach, ...offsets].reduce((sum, x) => sum + x, swizzled);
}

/** The places of all elements on an axis: each digit repeats, a step further, what the faster ones make. */
function wholeColumn(layout: Layout, axis: string): Float64Array {
  const column = new Float64Array(Number(layout.size)).fill(Number(layout.offset[axis] ?? 0n), 0, 1);
  let known = 1;
  for (const { extent, stride } of [...layout.digits].reverse()) {
    const step = Number(stride[axis] ?? 0n);
    const end = known * Number(extent);
    for (let at = known; at < end; at++) column[at] = column[at - known]! + step;
    known = end;
  }
  return column;
}

/** The places of some elements, axis by axis; `rest` is used up. */
function columnsAt(layout: Layout, rest: Float64Array): Float64Array[] {
  const starts = layout.axes.map(({ name }) => Number(layout.offset[name] ?? 0n));
  const columns = starts.map((start) => new Float64Array(rest.length).fill(start));
  const digit = new Float64Array(rest.length);
  for (const { extent, stride } of [...layout.digits].reverse()) {
    takeDigit(rest, digit, Number(extent));
    layout.axes.forEach(({ name }, i) => addProduct(columns[i]!, digit, Number(stride[name] ?? 0n)));
  }
  return columns;
}

/** `table` on numbers, which `bound` has proven to be exact, from places before copies and swizzles. */
function fastTable(layout: Layout, base: readonly Float64Array[]): Table {
  const names = layout.axes.map((axis) => axis.name);
  const columns = base.map((column, i) => {
    const steps = layout.copySteps.map((copy) => Number(copy[i]));
    return withCopies(column, steps);
  });
  const at = names.indexOf(layout.swizzledAxis?.name ?? "");
  if (at >= 0) {
    swizzleColumn(layout, columns[at]!);
    sortCopies(columns, layout.copySteps.length);
  }
  return byAxis(layout, (i) => columns[i]!);
}

/** The lowest digits of all indices, which are then without them: exact below 2^53. */
function takeDigit(rest: Float64Array, digit: Float64Array, extent: number): void {
  for (let i = 0; i < rest.length; i++) {
    const quotient = Math.floor(rest[i]! / extent);
    digit[i] = rest[i]! - quotient * extent;
    rest[i] = quotient;
  }
}

function addProduct(sum: Float64Array, digit: Float64Array, step: number): void {
  if (step) for (let i = 0; i < sum.length; i++) sum[i]! += digit[i]! * step;
}

function withCopies(column: Float64Array, steps: readonly number[]): Float64Array {
  const copies = steps.length;
  if (copies === 1 && !steps[0]) return column;
  const result = new Float64Array(column.length * copies);
  for (let i = 0; i < column.length; i++) {
    for (let c = 0; c < copies; c++) result[i * copies + c] = column[i]! + steps[c]!;
  }
  return result;
}

function swizzleColumn(layout: Layout, column: Float64Array): void {
  const { swizzles } = layout;
  const [low, high] = plainExtremes(layout, layout.swizzledAxis!.name);
  const outer = Number(outerSteps(layout));
  if (low >= -WORD && high < WORD && periodOf(swizzles) < WORD) applyInPlace(swizzles, column);
  else if (swizzles.every(({ bits }) => bits <= MOST_DIGIT_BITS)) applyToLarge(swizzles, column);
  else {
    for (let i = 0; i < column.length; i++) column[i] = Number(applied(swizzles, BigInt(column[i]!)));
  }
  if (outer) for (let i = 0; i < column.length; i++) column[i]! += outer;
}

/** The copies of every element in the order of their places, which a swizzle may have changed. */
function sortCopies(columns: readonly Float64Array[], copies: number): void {
  const [only, other] = columns;
  const precedes = (a: number, b: number): number => {
    for (const column of columns) if (column[a] !== column[b]) return column[a]! - column[b]!;
    return 0;
  };
  for (let first = 0; first < only!.length; first += copies) {
    let at = first + 1;
    while (at < first + copies && precedes(at - 1, at) < 0) at++;
    if (at === first + copies) continue;
    if (!other) {
      only!.subarray(first, first + copies).sort();
      continue;
    }
    const order = Array.from({ length: copies }, (_, c) => first + c).sort(precedes);
    for (const column of columns) column.set(order.map((from) => column[from]!), first);
  }
}

/** The flat indices of the elements at a place, full or partial; for layouts of at most 1,048,576 places. */
export function who(layout: Layout, place: Vector): number[] {
  const places = table(layout, { from: 0, to: Number(layout.size) });
  const copies = layout.copySteps.length;
  const asked = Object.entries(place).map(([axis, steps]) => [places[axis], steps] as const);
  const found: number[] = [];
  for (let flat = 0; flat < Number(layout.size); flat++) {
    for (let at = flat * copies; at < (flat + 1) * copies; at++) {
      if (!asked.every(([column, steps]) => BigInt(column?.[at] ?? 0) === steps)) continue;
      found.push(flat);
      break;
    }
  }
  return found;
}
