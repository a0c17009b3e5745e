/** From elements to cells and back, by the arithmetic of a panel. Every view asks here. */

import { inPieces, PIECE, type Work } from "./pieces";
import type { Heads, Panel, Rule, Scene } from "./types";

/** The numbers at the head of a row, a column or a block. */
export function headValues(heads: Heads, position: number): number[] {
  return heads.map((head) => {
    const value = Math.floor((position + head.start) / head.divide);
    return (head.modulo ? modulo(value, head.modulo) : value) * head.multiply + head.low;
  });
}

/** A row-major index of extents as CuTe counts it, with the leftmost fastest. */
export function turnedIndex(index: number, extents: readonly number[]): number {
  let [rest, weight, found] = [index, extents.reduce((size, extent) => size * extent, 1), 0];
  for (const extent of [...extents].reverse()) {
    weight /= extent;
    found += (rest % extent) * weight;
    rest = Math.floor(rest / extent);
  }
  return found;
}

/** Columns of the whole logical grid: row-major index = row * columns + column. */
export function gridColumns(scene: Scene): number {
  return scene.columns.reduce((product, extent) => product * extent, 1);
}

/** How many elements the scene has: those of its window. */
export function elementsOf(scene: Scene): number {
  const first = scene.axes[0];
  return first ? (scene.places[first.name]?.length ?? 0) / scene.copies : 0;
}

/** The flat index of an element of the scene. */
export function flatOf(scene: Scene, position: number): number {
  const [[top], [left, right]] = scene.window;
  const wide = right - left;
  const index = (top + Math.floor(position / wide)) * gridColumns(scene) + left + (position % wide);
  return scene.order === "cute" ? turnedIndex(index, scene.shape) : index;
}

/** The position in the scene of a flat index; -1 where the window does not have it. */
export function positionOf(scene: Scene, flat: number): number {
  const [[top, bottom], [left, right]] = scene.window;
  const columns = gridColumns(scene);
  const index = scene.order === "cute" ? turnedIndex(flat, [...scene.shape].reverse()) : flat;
  const row = Math.floor(index / columns);
  const column = index - row * columns;
  if (row < top || row >= bottom || column < left || column >= right) return -1;
  const position = (row - top) * (right - left) + column - left;
  return position < elementsOf(scene) ? position : -1;
}

/** The colours of all elements of a scene, 0 to 7: those of their first copies. */
export function* coloursOf(scene: Scene): Work<Uint8Array> {
  const colours = new Uint8Array(elementsOf(scene));
  const { copies } = scene;
  yield* inPieces(colours.length, (from, to) => {
    const found = values([scene.colour.rule], scene, from, to, copies);
    for (let at = from; at < to; at++) colours[at] = found[at - from]! & 7;
  });
  return colours;
}

/** Nothing is there. */
export const NOWHERE = -1;

/**
 * The small cell of each copy of each element, at position * copies + copy: they count row by row in all of
 * the panel, and a cell of several slots is so many small ones side by side.
 */
export function* cellsOf(scene: Scene, panel: Panel): Work<Int32Array> {
  const [rows, columns] = panel.cells;
  const [blockRows, blockColumns] = panel.blocks;
  const { slots } = panel;
  const broad = blockColumns * columns * slots;
  const parts: [Rule, number, number][] = [
    [panel.block_row, blockRows, rows * broad],
    [panel.row, rows, broad],
    [panel.block_column, blockColumns, columns * slots],
    [panel.column, columns, slots],
    [panel.slot, slots, 1],
  ];
  const cells = new Int32Array(elementsOf(scene) * scene.copies);
  yield* inPieces(cells.length, (from, to) => {
    for (const [rule, extent, weight] of parts) {
      if (!rule.length) continue;
      const found = values(rule, scene, from, to);
      for (let at = from; at < to; at++) {
        const value = found[at - from]!;
        const inside = value >= 0 && value < extent && cells[at]! >= 0;
        cells[at] = inside ? cells[at]! + value * weight : NOWHERE;
      }
    }
  });
  return cells;
}

const [SUMS, LOGICAL] = [new Float64Array(PIECE), new Float64Array(PIECE)];

/** A rule for every so manieth entry, from one to another; the array is used again. */
function values(rule: Rule, scene: Scene, from: number, to: number, every = 1): Float64Array {
  const sums = SUMS.subarray(0, to - from).fill(0);
  for (const { axis, subtract, scale, divide, modulo: by, multiply } of rule) {
    const isLogical = axis === "@row" || axis === "@column";
    const xs = isLogical ? logical(scene, axis, from, to, scene.copies / every) : scene.places[axis];
    if (!xs) continue;
    const [first, step] = isLogical ? [0, 1] : [from * every, every];
    const plain = divide === 1 && !by && Number.isInteger(scale);
    for (let i = 0; i < sums.length; i++) {
      let value = xs[first + i * step]! * scale - subtract;
      if (!plain) {
        value = Math.floor(value / divide);
        if (by) value -= Math.floor(value / by) * by;
      }
      sums[i]! += value * multiply;
    }
  }
  return sums;
}

/** The rows of the logical grid that entries are in, or the columns; the array is used again. */
function logical(scene: Scene, axis: string, from: number, to: number, copies: number): Float64Array {
  const [[top], [left, right]] = scene.window;
  const first = Math.floor(from / copies);
  let copy = from - first * copies;
  let row = Math.floor(first / (right - left));
  let column = left + first - row * (right - left);
  row += top;
  for (let i = 0; i < to - from; i++) {
    LOGICAL[i] = axis === "@row" ? row : column;
    if (++copy < copies) continue;
    copy = 0;
    if (++column < right) continue;
    column = left;
    row++;
  }
  return LOGICAL;
}

function modulo(value: number, by: number): number {
  const rest = value % by;
  return rest < 0 ? rest + by : rest;
}
