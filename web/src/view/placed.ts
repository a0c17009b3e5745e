/** A panel as one table of small cells, row by row: which elements each has, and where each element is. */

import { cellsOf, NOWHERE } from "../scene/cells";
import { inPieces, type Work } from "../scene/pieces";
import type { Panel, Scene } from "../scene/types";
import { rankOf, type Lit } from "./lit";

/**
 * The cells of a panel as one table. A cell of several slots is so many small cells side by side.
 *
 * An entry is a copy of an element, position * copies + copy.
 */
export class Table {
  readonly rows: number;
  readonly columns: number;
  readonly copies: number;
  /** How many cells an element takes. */
  readonly wide: number;
  /** The small cell of each entry; none before they are located. */
  cellOf: Int32Array = new Int32Array(0);
  private starts = new Int32Array(0);
  private entries: Int32Array | null = null;

  constructor(
    private readonly scene: Scene,
    readonly panel: Panel,
  ) {
    const { blocks, cells, slots, width } = panel;
    this.rows = blocks[0] * cells[0];
    this.columns = blocks[1] * cells[1] * slots;
    this.copies = scene.copies;
    this.wide = slots === 1 ? width : 1;
  }

  /** Find the cells of all entries. */
  *locate(): Work<void> {
    this.cellOf = yield* cellsOf(this.scene, this.panel);
  }

  /** The entries that a cell has, or all up to a `last` one of its row. */
  at(cell: number, last = cell): Int32Array {
    this.entries ??= this.invert();
    return this.entries.subarray(this.starts[cell]!, this.starts[last + 1]!);
  }

  /** How many cells of its row an entry covers. */
  covers(cell: number): number {
    return this.wide === 1 ? 1 : Math.min(this.wide, this.panel.cells[1] - (cell % this.panel.cells[1]));
  }

  /** The cells that are drawn as one with a cell, from and to: those of a wide element that is alone in them. */
  run(cell: number): [number, number] {
    if (this.wide === 1) return [cell, cell + 1];
    const alone = this.at(cell);
    if (alone.length !== 1) return [cell, cell + 1];
    const first = this.cellOf[alone[0]!]!;
    const end = first + this.covers(first);
    for (let one = first; one < end; one++) if (this.at(one).length !== 1) return [cell, cell + 1];
    return [first, end];
  }

  /** The rank of each cell: that of its first entry among those that are lit most; 0 where it is empty. */
  *ranks(lit: Lit): Work<Uint8Array> {
    const ranks = new Uint8Array(this.rows * this.columns);
    const { cellOf, wide, copies } = this;
    const { how, colours, copies: there } = lit;
    yield* inPieces(lit.count, (from, to) => {
      for (let position = from; position < to; position++) {
        const rank = rankOf(how[position]!, colours[position]!);
        for (let entry = position * copies, end = entry + there; entry < end; entry++) {
          const cell = cellOf[entry]!;
          if (cell === NOWHERE) continue;
          const last = wide === 1 ? cell : cell + this.covers(cell) - 1;
          for (let one = cell; one <= last; one++) {
            if ((rank + 7) >> 3 > (ranks[one]! + 7) >> 3) ranks[one] = rank;
          }
        }
      }
    });
    return ranks;
  }

  /** Which entries each cell has; that is asked first when something is looked at. */
  private invert(): Int32Array {
    const { cellOf } = this;
    this.starts = new Int32Array(this.rows * this.columns + 1);
    const { starts } = this;
    if (this.wide === 1) return this.invertNarrow();
    for (let at = 0; at < cellOf.length; at++) {
      const cell = cellOf[at]!;
      if (cell === NOWHERE) continue;
      for (let next = cell + this.covers(cell); next > cell; next--) starts[next]!++;
    }
    for (let cell = 1; cell < starts.length; cell++) starts[cell]! += starts[cell - 1]!;
    const entries = new Int32Array(starts[starts.length - 1]!);
    const filled = starts.slice();
    for (let at = 0; at < cellOf.length; at++) {
      const cell = cellOf[at]!;
      if (cell === NOWHERE) continue;
      for (let next = cell; next < cell + this.covers(cell); next++) entries[filled[next]!++] = at;
    }
    return entries;
  }

  /** The same where every entry is in one cell, with less to do. */
  private invertNarrow(): Int32Array {
    const { starts, cellOf } = this;
    for (let at = 0; at < cellOf.length; at++) if (cellOf[at]! >= 0) starts[cellOf[at]! + 1]!++;
    for (let cell = 1; cell < starts.length; cell++) starts[cell]! += starts[cell - 1]!;
    const entries = new Int32Array(starts[starts.length - 1]!);
    for (let at = cellOf.length - 1; at >= 0; at--) {
      const cell = cellOf[at]!;
      if (cell >= 0) entries[--starts[cell + 1]!] = at;
    }
    for (let cell = 0; cell + 1 < starts.length; cell++) starts[cell] = starts[cell + 1]!;
    starts[starts.length - 1] = entries.length;
    return entries;
  }
}
