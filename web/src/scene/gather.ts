/** The places of the elements of a scene, axis by axis. */

import { table, type Layout } from "../core";
import { product, refuseFar, refuseMany, type Logical } from "./logical";
import { inPieces, type Work } from "./pieces";
import type { Axis } from "./types";

/** Axes with their ends, and places[axis][element * copies + copy]. */
export interface Gathered {
  readonly copies: number;
  readonly axes: readonly Axis[];
  readonly places: Readonly<Record<string, Float64Array>>;
}

/** The places of all elements of a window. */
export function* gathered(layout: Layout, part: Logical): Work<Gathered> {
  const size = Number(part.size);
  const flats = part.whole ? null : flatsOf(part);
  refuseMany(BigInt(flats?.length ?? size) * layout.copies);
  const listed = table(layout, flats ?? { from: 0, to: size });
  const places = Object.create(null) as Record<string, Float64Array>;
  const axes: Axis[] = [];
  for (const { name, kind } of layout.axes) {
    const values = listed[name]!;
    let [low, high] = [values[0]!, values[0]!];
    yield* inPieces(values.length, (from, to) => {
      let [least, most] = [low, high]; // of its own, for speed
      for (let at = from; at < to; at++) {
        const value = values[at]!;
        if (value < least) least = value;
        if (value > most) most = value;
      }
      [low, high] = [least, most];
    });
    refuseFar(low, name);
    refuseFar(high, name);
    places[name] = values instanceof Float64Array ? values : Float64Array.from(values, Number);
    axes.push({ name, kind, low: Number(low), high: Number(high) });
  }
  return { copies: layout.copySteps.length, axes, places };
}

/** The flat indices of a window, row by row; the last row of the grid may have fewer. */
function flatsOf(part: Logical): Float64Array {
  const [[top, bottom], [left, right]] = part.window;
  const broad = Number(product(part.columns));
  const size = Number(part.size);
  const flats = new Float64Array((bottom - top) * (right - left));
  let count = 0;
  for (let row = top; row < bottom; row++) {
    const end = Math.min(row * broad + right, size);
    for (let flat = row * broad + left; flat < end; flat++) flats[count++] = flat;
  }
  return flats.subarray(0, count);
}
