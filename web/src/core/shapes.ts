/** Nested shapes. `8`, `(8)` and `(8,)` are one shape. */

import { LayoutError } from "./errors";
import { isTooLarge, MAX_DIGITS } from "./integers";

export type Mode = bigint | readonly Mode[];
export type Shape = readonly Mode[];

/** How an index counts: with the rightmost digit fastest, or with the leftmost, as CuTe does. */
export type Order = "row" | "cute";

export const MAX_NESTING = 64;
export const MAX_ITERS = 1_024;

/** The shape that nested lists of extents spell: a list of one extent inside a shape is that extent. */
export function shapeOf(modes: Shape): Shape {
  const shape = modes.map((mode) => modeOf(mode, 2));
  if (leavesOf(shape).length > MAX_ITERS) {
    throw new LayoutError(
      "TW005",
      `a shape of more than ${MAX_ITERS} extents`,
      "merge modes that are contiguous",
    );
  }
  if (isTooLarge(sizeOf(shape))) {
    throw new LayoutError("TW005", `a shape whose size has more than ${MAX_DIGITS} digits`);
  }
  return shape;
}

function modeOf(mode: Mode, depth: number): Mode {
  if (typeof mode === "bigint") return mode;
  if (depth > MAX_NESTING) throw new LayoutError("TW005", `a shape nested deeper than ${MAX_NESTING}`);
  const [first] = mode;
  if (mode.length === 1 && first !== undefined) return modeOf(first, depth + 1);
  return mode.map((inner) => modeOf(inner, depth + 1));
}

/** The extents from left to right. */
export function leavesOf(mode: Mode): bigint[] {
  return typeof mode === "bigint" ? [mode] : mode.flatMap(leavesOf);
}

/** How many indices a shape or a mode has. */
export function sizeOf(mode: Mode): bigint {
  return leavesOf(mode).reduce((size, extent) => size * extent, 1n);
}

/** The size of each top-level mode. */
export function extentsOf(shape: Shape): bigint[] {
  return shape.map(sizeOf);
}

/** One number a top-level mode, for a flat index. */
export function coordinatesOf(flat: bigint, shape: Shape, order: Order = "row"): bigint[] {
  const extents = extentsOf(shape);
  const fastestFirst = order === "row" ? extents.reverse() : extents;
  const found = fastestFirst.map((extent) => {
    const digit = flat % extent;
    flat /= extent;
    return digit;
  });
  return order === "row" ? found.reverse() : found;
}

/** A mode with its parts in reverse, at every level. */
export function mirroredMode(mode: Mode): Mode {
  return typeof mode === "bigint" ? mode : mode.map(mirroredMode).reverse();
}

/** A shape as it is written, without the outer comma where none is needed. */
export function spelledShape(shape: Mode): string {
  if (typeof shape === "bigint") return `${shape}`;
  if (shape.length === 1 && typeof shape[0] === "bigint") return `${shape[0]}`;
  return spelledMode(shape);
}

function spelledMode(mode: Mode): string {
  return typeof mode === "bigint" ? `${mode}` : inParentheses(mode.map(spelledMode));
}

/** A tuple as Python writes it. */
export function inParentheses(parts: readonly string[]): string {
  return `(${parts.join(", ")}${parts.length === 1 ? "," : ""})`;
}
