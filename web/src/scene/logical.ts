/** The logical grid of a layout: which modes are its rows, and which part of it is looked at. */

import { LayoutError, extentsOf, sizeOf, spelledShape, type Layout, type Shape } from "../core";

/** So many cells a panel has at most, and so many places a scene. */
export const MOST_CELLS = 1 << 20;
/** So many elements have room in the cells of a panel at most. */
export const MOST_PARTS = 1 << 22;

/** Places and indices of a scene are nearer to 0, so that arithmetic on them is exact. */
export const FAR = 2 ** 44;

/** From and to; null is all the way. */
export type Ends = readonly [number | null, number | null] | null;
export type Window = readonly [(Ends | undefined)?, (Ends | undefined)?];

/** Rows and columns of a grid, and those of them that a scene has. */
export interface Logical {
  readonly size: bigint;
  readonly shape: Shape;
  readonly rows: readonly bigint[];
  readonly columns: readonly bigint[];
  readonly window: readonly [readonly [number, number], readonly [number, number]];
  readonly whole: boolean;
}

const ROW_OF_A_LINE = 16n;

/** The grid of a layout in a shape, and a window of it. */
export function logicalOf(layout: Layout, shape?: Shape | null, window?: Window | null): Logical {
  const asked = askedIn(layout, shape);
  const [rows, columns] = split(asked, layout.size);
  const [tall, broad] = [product(rows), product(columns)];
  if (window && window.length > 2) {
    throw new LayoutError("TW201", `a window of ${(window as readonly unknown[]).length} ranges`, "a grid has rows and columns");
  }
  const ends = [range("rows", window?.[0], tall), range("columns", window?.[1], broad)] as const;
  const whole = ends[0][0] === 0n && ends[0][1] === tall && ends[1][0] === 0n && ends[1][1] === broad;
  refuseMany((ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0]));
  if (layout.size >= BigInt(FAR)) {
    const reason = `a layout of ${layout.size} elements is too large to draw`;
    throw new LayoutError("TW301", reason, "pictures end at 2^44");
  }
  return { size: layout.size, shape: asked, rows, columns, window: [numbers(ends[0]), numbers(ends[1])], whole };
}

function askedIn(layout: Layout, shape?: Shape | null): Shape {
  if (!shape) return layout.shape;
  const size = sizeOf(shape);
  if (size === layout.size) return shape;
  throw new LayoutError(
    "TW202",
    `shape ${spelledShape(shape)} has ${size} elements, and the layout has ${layout.size}`,
    `ask in any shape of ${layout.size} elements; the layout's own is ${spelledShape(layout.shape)}`,
  );
}

/** The modes that make the rows, and those that make the columns: as square as they can be. */
export function split(asked: Shape, size: bigint): [bigint[], bigint[]] {
  const extents = extentsOf(asked);
  if (extents.length === 1) {
    const columns = size < ROW_OF_A_LINE ? size : ROW_OF_A_LINE;
    return [[(size + columns - 1n) / columns], [columns]];
  }
  let best: [bigint[], bigint[]] = [[1n], [1n]];
  let least: [bigint, bigint] | null = null;
  for (let k = 1; k < extents.length; k++) {
    const [rows, columns] = [extents.slice(0, k), extents.slice(k)];
    const [tall, broad] = [product(rows), product(columns)];
    const larger = tall > broad ? tall : broad;
    if (least && (larger > least[0] || (larger === least[0] && broad >= least[1]))) continue;
    [best, least] = [[rows, columns], [larger, broad]];
  }
  return best;
}

export function product(extents: readonly bigint[]): bigint {
  return extents.reduce((size, extent) => size * extent, 1n);
}

function range(name: string, given: Ends | undefined, extent: bigint): readonly [bigint, bigint] {
  if (!given) return [0n, extent];
  const first = given[0] === null ? 0n : BigInt(given[0]);
  const last = given[1] === null ? extent : BigInt(given[1]);
  if (0n <= first && first < last && last <= extent) return [first, last];
  const reason = `${name} ${first}:${last} are not within 0:${extent}`;
  throw new LayoutError("TW201", reason, `the grid has ${extent} ${name}`);
}

function numbers([first, last]: readonly [bigint, bigint]): readonly [number, number] {
  return [Number(first), Number(last)];
}

/** Refuse more places than a scene has. */
export function refuseMany(places: bigint): void {
  if (places <= BigInt(MOST_CELLS)) return;
  const reason = `a picture of ${places} places, and ${MOST_CELLS} are the most`;
  throw new LayoutError("TW301", reason, "give a window, such as rows 0:64 and columns 0:64");
}

/** Refuse a place on which arithmetic may not be exact. */
export function refuseFar(place: bigint | number, axis: string): void {
  if (-FAR < place && place < FAR) return;
  throw new LayoutError("TW301", `a place at ${place}@${axis} is too far away to draw`, "pictures end at 2^44");
}
