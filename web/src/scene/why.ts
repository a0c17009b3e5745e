/** From an index to its places, step by step: the definition, with the numbers filled in. */

import { LayoutError, coordinatesOf, points, sizeOf, spelledShape, spelledSwizzle, spelledVector, vectorOf } from "../core";
import type { Layout, Order, Shape, Swizzle, Vector } from "../core";
import { applied, undone } from "../core/swizzles";

/** One step of an explanation. */
export interface Why {
  readonly name: string;
  readonly lines: readonly string[];
}

const MOST_COPIES = 8;

/** The steps from a flat index to its places, as `tilewise explain` tells them. */
export function whyOf(layout: Layout, flat: bigint, shape: Shape = layout.shape): Why[] {
  if (sizeOf(shape) !== layout.size) throw new LayoutError("TW202", "the shape has another number of elements");
  const digits = digitsOf(layout, flat);
  const base = beforeSwizzle(layout, flat, true);
  const sum = beforeSwizzle(layout, flat, false);
  const places = points(layout, flat).map((place) => spelledVector(place));
  const steps: Why[] = [
    { name: "index", lines: [indexLine(flat, shape, layout.order)] },
    { name: "digits", lines: aligned(digits.map(({ formula, digit, extent }) => [formula, `= ${digit}`, `of ${extent}`])) },
    { name: "strides", lines: strideLines(layout, digits.map(({ digit }) => digit)) },
    { name: "sum", lines: [spelledVector(sum)] },
    { name: "offset", lines: hasTerms(layout.offset) ? [`+ ${spelledVector(layout.offset)} = ${spelledVector(base)}`] : [] },
    { name: "copies", lines: layout.replica.length ? copyLines(layout, base) : [] },
    ...layout.swizzles.map((swizzle, at): Why => ({ name: "xor", lines: xorLines(layout, flat, at, swizzle) })).reverse(),
    { name: "outer", lines: hasTerms(layout.outer) ? [`+ ${spelledVector(layout.outer)}, outside the swizzle`] : [] },
    { name: places.length === 1 ? "place" : "places", lines: some(places) },
  ];
  return steps.filter(({ lines }) => lines.length);
}

function hasTerms(vector: Vector): boolean {
  return Object.keys(vector).length > 0;
}

function indexLine(flat: bigint, shape: Shape, order: Order): string {
  const index = coordinatesOf(flat, shape, order);
  const written = index.length === 1 ? `${index[0]}` : `(${index.join(", ")})`;
  return `${written} in ${spelledShape(shape)} is element ${flat}`;
}

interface Digit {
  readonly formula: string;
  readonly digit: bigint;
  readonly extent: bigint;
}

/** Every digit of the index, slowest first. */
function digitsOf(layout: Layout, flat: bigint): Digit[] {
  let below = 1n;
  const found = [...layout.digits].reverse().map(({ extent }, position): Digit => {
    const slowest = position === layout.digits.length - 1;
    const formula = `${flat}${below > 1n ? ` // ${below}` : ""}${slowest ? "" : ` % ${extent}`}`;
    const digit = (flat / below) % extent;
    below *= extent;
    return { formula, digit, extent };
  });
  return found.reverse();
}

function strideLines(layout: Layout, digits: readonly bigint[]): string[] {
  const rows = layout.digits.map(({ stride }, i) => {
    const terms = Object.keys(stride).length;
    const written = terms > 1 ? `(${spelledVector(stride)})` : spelledVector(stride);
    return [`${digits[i]} * ${written}`, `= ${spelledVector(times(stride, digits[i]!))}`];
  });
  return aligned(rows);
}

function times(vector: Vector, count: bigint): Vector {
  return vectorOf(Object.entries(vector).map(([axis, steps]): [string, bigint] => [axis, steps * count]));
}

/** D(x) on all axes, with the offset or without it. */
function beforeSwizzle(layout: Layout, flat: bigint, withOffset: boolean): Vector {
  const digits = digitsOf(layout, flat);
  return vectorOf(
    layout.axes.map(({ name }): [string, bigint] => {
      const first = withOffset ? (layout.offset[name] ?? 0n) : 0n;
      return [name, layout.digits.reduce((sum, it, i) => sum + digits[i]!.digit * (it.stride[name] ?? 0n), first)];
    }),
  );
}

function copyLines(layout: Layout, base: Vector): string[] {
  return some(
    layout.copySteps.map((copy) => {
      const step = vectorOf(layout.axes.map(({ name }, i): [string, bigint] => [name, copy[i]!]));
      const moved = vectorOf(layout.axes.map(({ name }, i): [string, bigint] => [name, copy[i]! + base[name]!]));
      return `+ ${spelledVector(step)} = ${spelledVector(moved)}`;
    }),
  );
}

/** One swizzle of the chain at work on every copy's address. */
function xorLines(layout: Layout, flat: bigint, at: number, swizzle: Swizzle): string[] {
  const { bits, base, shift, axis } = swizzle;
  const [low, high] = [base + Math.max(0, shift), base - Math.min(0, shift)];
  const lines = points(layout, flat).map((place) => {
    const inside = place[axis.name]! - (layout.outer[axis.name] ?? 0n);
    const before = undone(layout.swizzles.slice(0, at + 1), inside);
    const after = applied([swizzle], before);
    const field = (before >> BigInt(low)) & ((1n << BigInt(bits)) - 1n);
    const said = bits ? `bits ${low}..${low + bits - 1}` : "no bits";
    return (
      `${spelledSwizzle(swizzle)}: ${said} of ${before} are ${field}; ` +
      `${before} xor ${field} << ${high} = ${before} xor ${before ^ after} = ${after}@${axis.name}`
    );
  });
  return some(lines);
}

function some(lines: string[]): string[] {
  if (lines.length <= MOST_COPIES) return lines;
  return [...lines.slice(0, MOST_COPIES), `... and ${lines.length - MOST_COPIES} more`];
}

/** Rows as columns. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const [first = []] = rows;
  const widths = first.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("   ")
      .trimEnd()
      .replaceAll("   =", " ="),
  );
}
