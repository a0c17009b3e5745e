/** The two orders of an index: what computes with digits takes row-major layouts. */

import { LayoutError } from "./errors";
import type { Iter, Layout } from "./layout";
import { extentsOf, leavesOf, mirroredMode, spelledShape, type Mode, type Shape } from "./shapes";
import { vectorOf, type Vector } from "./vectors";

/** The layout in the other order, with the same place at every coordinate of its modes. */
export function mirrored(layout: Layout): Layout {
  let at = 0;
  const strides = layout.shape.flatMap((mode) => layout.strides.slice(at, (at += leavesOf(mode).length)).reverse());
  return layout.with({
    shape: layout.shape.map(mirroredMode),
    strides,
    order: layout.order === "row" ? "cute" : "row",
  });
}

/** The row-major layout with the same place at every coordinate of the modes, or of a shape of its size. */
export function byCoordinates(layout: Layout, shape?: Shape | null): Layout {
  if (layout.order === "row") return layout;
  return shape ? inShape(layout, shape) : mirrored(layout);
}

/** A layout in CuTe's order with the digits of another shape, row-major. */
function inShape(layout: Layout, shape: Shape): Layout {
  const left = merged(layout.digits);
  const modes = extentsOf(shape).map((extent) => {
    const mode: Iter[] = []; // the fastest first
    while (extent > 1n) {
      const digit = left.pop();
      const taken = digit && digit.extent < extent ? digit.extent : extent;
      if (!digit || digit.extent % taken || extent % taken) throw unfit(shape);
      mode.push({ extent: taken, stride: digit.stride });
      if (digit.extent > taken) left.push({ extent: digit.extent / taken, stride: times(digit.stride, taken) });
      extent /= taken;
    }
    return mode.reverse();
  });
  return layout.with({
    shape: modes.map((mode): Mode => (mode.length ? mode.map(({ extent }) => extent) : 1n)),
    strides: modes.flatMap((mode) => (mode.length ? mode.map(({ stride }) => stride) : [vectorOf([])])),
    order: "row",
  });
}

/** Digits, slowest first, with those that continue each other as one. */
function merged(digits: readonly Iter[]): Iter[] {
  const found: Iter[] = [];
  for (const digit of digits) {
    const last = found.at(-1);
    if (digit.extent === 1n) continue;
    if (last && isSame(last.stride, times(digit.stride, digit.extent))) {
      found[found.length - 1] = { extent: last.extent * digit.extent, stride: digit.stride };
    } else found.push(digit);
  }
  return found;
}

function times(vector: Vector, count: bigint): Vector {
  return vectorOf(Object.entries(vector).map(([axis, steps]): [string, bigint] => [axis, steps * count]));
}

function isSame(a: Vector, b: Vector): boolean {
  return [...Object.keys(a), ...Object.keys(b)].every((axis) => (a[axis] ?? 0n) === (b[axis] ?? 0n));
}

function unfit(shape: Shape): LayoutError {
  return new LayoutError("TW503", `no digits of ${spelledShape(shape)} are the same map`, "ask in another shape");
}
