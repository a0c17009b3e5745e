/** The places of the elements of a scene, axis by axis. */

import { isFast, plainExtremes, table, type Layout, type Table } from "../core";
import { product, refuseFar, refuseMany, type Logical } from "./logical";
import { inPieces, pause, PIECE, type Work } from "./pieces";
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
  if (part.whole) refuseFarPlaces(layout);
  const listed = yield* listedOf(layout, flats ?? { from: 0, to: size });
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

/** Refuse what is known to be too far away before it is listed; where a swizzle puts it is not. */
function refuseFarPlaces(layout: Layout): void {
  for (const { name } of layout.axes) {
    if (name === layout.swizzledAxis?.name) return;
    for (const place of plainExtremes(layout, name)) refuseFar(place, name);
  }
}

/** The places of many elements; in parts where they take a while. */
function* listedOf(layout: Layout, flats: Float64Array | { from: number; to: number }): Work<Table> {
  const count = flats instanceof Float64Array ? flats.length : flats.to;
  const { length: copies } = layout.copySteps;
  const most = Math.max(1, Math.floor(PIECE / copies));
  if (count <= most || isFast(layout)) return table(layout, flats);
  const parts: Table[] = [];
  for (let from = 0; from < count; from += most) {
    const to = Math.min(count, from + most);
    parts.push(table(layout, flats instanceof Float64Array ? flats.slice(from, to) : { from, to }));
    yield* pause(count * copies);
  }
  return Object.fromEntries(layout.axes.map(({ name }) => [name, joined(parts.map((part) => part[name]!))]));
}

function joined(parts: readonly Table[string][]): Table[string] {
  if (!parts.every((part) => part instanceof Float64Array)) return parts.flatMap((part) => [...part] as bigint[]);
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part as Float64Array, at);
    at += part.length;
  }
  return whole;
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
