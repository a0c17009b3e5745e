/** From elements to cells and back, by the arithmetic of a panel. Every view asks here. */

import type { Heads, Panel, Rule, Scene } from "./types";

/** The coordinates of all elements on every axis, `@row` and `@column` among them. */
export type Places = Readonly<Record<string, ArrayLike<number>>>;

/** Where an element is drawn; the block and the place in it. */
export interface Cell {
  blockRow: number;
  blockColumn: number;
  row: number;
  column: number;
  slot: number;
}

/** The value of a rule for one copy of one element: `at` is position * copies + copy. */
export function evaluate(rule: Rule, places: Places, at: number): number {
  let sum = 0;
  for (const term of rule) {
    const x = places[term.axis]?.[at] ?? 0;
    let value = Math.floor((x * term.scale - term.subtract) / term.divide);
    if (term.modulo) value = modulo(value, term.modulo);
    sum += value * term.multiply;
  }
  return sum;
}

/** The numbers at the head of a row, a column or a block. */
export function headValues(heads: Heads, position: number): number[] {
  return heads.map((head) => {
    const value = Math.floor((position + head.start) / head.divide);
    return (head.modulo ? modulo(value, head.modulo) : value) * head.multiply + head.low;
  });
}

/** Columns of the whole logical grid: flat index = row * columns + column. */
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
  return (top + Math.floor(position / wide)) * gridColumns(scene) + left + (position % wide);
}

/** The position in the scene of a flat index; -1 where the window does not have it. */
export function positionOf(scene: Scene, flat: number): number {
  const [[top, bottom], [left, right]] = scene.window;
  const columns = gridColumns(scene);
  const row = Math.floor(flat / columns);
  const column = flat - row * columns;
  if (row < top || row >= bottom || column < left || column >= right) return -1;
  const position = (row - top) * (right - left) + column - left;
  return position < elementsOf(scene) ? position : -1;
}

const completed = new WeakMap<Scene, Places>();

/** The places of a scene with `@row` and `@column`, which are computed once. */
export function placesOf(scene: Scene): Places {
  const known = completed.get(scene);
  if (known) return known;
  const count = elementsOf(scene);
  const { copies, window } = scene;
  const [[top], [left, right]] = window;
  const rows = new Float64Array(count * copies);
  const columns = new Float64Array(count * copies);
  for (let at = 0, row = top, column = left; at < rows.length; ) {
    for (const end = at + copies; at < end; at++) {
      rows[at] = row;
      columns[at] = column;
    }
    if (++column === right) {
      column = left;
      row++;
    }
  }
  const places = { ...scene.places, "@row": rows, "@column": columns };
  completed.set(scene, places);
  return places;
}

/** The colour of an element, 0 to 7: that of its first copy. */
export function colourOf(scene: Scene, position: number): number {
  return evaluate([scene.colour.rule], scene.places, position * scene.copies);
}

/** The colours of all elements of a scene. */
export function coloursOf(scene: Scene): Uint8Array {
  const colours = new Uint8Array(elementsOf(scene));
  const { copies } = scene;
  const found = values([scene.colour.rule], scene.places, colours.length * copies);
  for (let position = 0; position < colours.length; position++) colours[position] = found[position * copies]!;
  return colours;
}

const OUTSIDE = -1;

/**
 * Which cell each element is in, and which elements each cell has.
 *
 * Elements are positions in the scene (see `flatOf`). A cell is one number: block after block, row after
 * row in a block, column after column. An element that is wider than a cell is in all the cells it covers;
 * `cellOf` has its first.
 */
export class PanelIndex {
  /** Of each copy of each element, at position * copies + copy; -1 outside the panel. */
  readonly cells: Int32Array;
  /** Where in its cell each copy of each element lies. */
  readonly slots: Uint8Array;
  /** How many cells the panel has. */
  readonly count: number;
  private starts: Int32Array | null = null;
  private order: Int32Array | null = null;

  constructor(
    readonly scene: Scene,
    readonly panel: Panel,
  ) {
    const [blockRows, blockColumns] = panel.blocks;
    const [rows, columns] = panel.cells;
    this.count = blockRows * blockColumns * rows * columns;
    const places = placesOf(scene);
    const entries = elementsOf(scene) * scene.copies;
    const blockRow = panel.block_row.length ? values(panel.block_row, places, entries) : null;
    const blockColumn = panel.block_column.length ? values(panel.block_column, places, entries) : null;
    const row = values(panel.row, places, entries);
    const column = values(panel.column, places, entries);
    const slot = panel.slot.length ? values(panel.slot, places, entries) : null;
    this.cells = new Int32Array(entries);
    this.slots = new Uint8Array(entries);
    for (let at = 0; at < entries; at++) {
      const i = blockRow?.[at] ?? 0;
      const j = blockColumn?.[at] ?? 0;
      const r = row[at]!;
      const c = column[at]!;
      const inside =
        i >= 0 && i < blockRows && j >= 0 && j < blockColumns && r >= 0 && r < rows && c >= 0 && c < columns;
      this.cells[at] = inside ? ((i * blockColumns + j) * rows + r) * columns + c : OUTSIDE;
      if (slot) this.slots[at] = slot[at]!;
    }
  }

  /** The cell of a copy of an element; null where the panel does not have it. */
  cellOf(element: number, copy = 0): Cell | null {
    const at = element * this.scene.copies + copy;
    const cell = this.cells[at] ?? OUTSIDE;
    return cell === OUTSIDE ? null : { ...this.positionOf(cell), slot: this.slots[at]! };
  }

  /** The number of a cell. */
  numberOf(cell: { blockRow: number; blockColumn: number; row: number; column: number }): number {
    const [rows, columns] = this.panel.cells;
    return ((cell.blockRow * this.panel.blocks[1] + cell.blockColumn) * rows + cell.row) * columns + cell.column;
  }

  /** The cell of a number. */
  positionOf(cell: number): { blockRow: number; blockColumn: number; row: number; column: number } {
    const [rows, columns] = this.panel.cells;
    const block = Math.floor(cell / (rows * columns));
    return {
      blockRow: Math.floor(block / this.panel.blocks[1]),
      blockColumn: block % this.panel.blocks[1],
      row: Math.floor(cell / columns) % rows,
      column: cell % columns,
    };
  }

  /** The elements that a cell has, by slots and then by positions. */
  elementsAt(cell: number): Int32Array {
    if (this.starts === null || this.order === null) this.invert();
    return this.order!.subarray(this.starts![cell] ?? 0, this.starts![cell + 1] ?? 0);
  }

  /** How many cells of its row an element at this cell covers. */
  private covered(cell: number): number {
    const columns = this.panel.cells[1];
    return Math.min(this.panel.width, columns - (cell % columns));
  }

  private invert(): void {
    const starts = new Int32Array(this.count + 2);
    const { cells, slots, scene } = this;
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!;
      if (cell === OUTSIDE) continue;
      for (let next = 0, covered = this.covered(cell); next < covered; next++) starts[cell + next + 2]!++;
    }
    for (let cell = 2; cell < starts.length; cell++) starts[cell]! += starts[cell - 1]!;
    const order = new Int32Array(starts[this.count + 1]!);
    for (let slot = 0; slot < this.panel.slots; slot++) {
      for (let at = 0; at < cells.length; at++) {
        const cell = cells[at]!;
        if (cell === OUTSIDE || slots[at] !== slot) continue;
        const element = Math.floor(at / scene.copies);
        for (let next = 0, covered = this.covered(cell); next < covered; next++) {
          order[starts[cell + next + 1]!++] = element;
        }
      }
    }
    this.starts = starts.subarray(0, this.count + 1);
    this.order = order;
  }
}

/** A rule for all entries at once. */
function values(rule: Rule, places: Places, entries: number): Float64Array {
  const sums = new Float64Array(entries);
  for (const { axis, subtract, scale, divide, modulo: by, multiply } of rule) {
    const xs = places[axis];
    if (!xs) continue;
    const plain = divide === 1 && !by && Number.isInteger(scale);
    for (let at = 0; at < entries; at++) {
      let value = xs[at]! * scale - subtract;
      if (!plain) {
        value = Math.floor(value / divide);
        if (by) value -= Math.floor(value / by) * by;
      }
      sums[at]! += value * multiply;
    }
  }
  return sums;
}

function modulo(value: number, by: number): number {
  const rest = value % by;
  return rest < 0 ? rest + by : rest;
}
