/** A panel as one table of small cells, row by row: which elements each has, and where each element is. */

import { cellsOf, NOWHERE } from "../scene/cells";
import { inPieces, type Work } from "../scene/pieces";
import type { Panel, Scene } from "../scene/types";
import { FADED, rankOf, type Lit } from "./lit";

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
  /** The ranks where all are faded, by how many copies there are; what is lit more comes on top. */
  private readonly faded = new Map<number, Uint8Array>();

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
    const { copies } = lit;
    const faded = this.faded.get(copies) ?? new Uint8Array(this.rows * this.columns);
    if (!this.faded.has(copies)) yield* this.raise(faded, lit, new Uint8Array(lit.count), null);
    this.faded.set(copies, faded);
    const ranks = faded.slice();
    const raised = rankOf(lit.least, 0) - rankOf(FADED, 0);
    if (raised) for (let cell = 0; cell < ranks.length; cell++) if (ranks[cell]) ranks[cell]! += raised;
    yield* this.raise(ranks, lit, lit.how, lit.more);
    return ranks;
  }

  /** Give cells the ranks of some elements in their order, or of all, where those are lit more. */
  private *raise(ranks: Uint8Array, lit: Lit, how: Uint8Array, some: Int32Array | null): Work<void> {
    const { cellOf, wide, copies } = this;
    const { colours, copies: there } = lit;
    yield* inPieces(some?.length ?? lit.count, (from, to) => {
      for (let at = from; at < to; at++) {
        const position = some ? some[at]! : at;
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
  }

  /** Which entries each cell has; that is asked first when something is looked at. */
  private invert(): Int32Array {
    const { cellOf, wide } = this;
    const starts = (this.starts = new Int32Array(this.rows * this.columns + 1));
    for (let at = 0; at < cellOf.length; at++) {
      const cell = cellOf[at]!;
      if (cell === NOWHERE) continue;
      if (wide === 1) starts[cell]!++;
      else for (let next = cell + this.covers(cell) - 1; next >= cell; next--) starts[next]!++;
    }
    for (let cell = 1; cell < starts.length; cell++) starts[cell]! += starts[cell - 1]!;
    const entries = new Int32Array(starts[starts.length - 1]!);
    // From the last on, each goes before those that its cells have already.
    for (let at = cellOf.length - 1; at >= 0; at--) {
      const cell = cellOf[at]!;
      if (cell === NOWHERE) continue;
      if (wide === 1) entries[--starts[cell]!] = at;
      else for (let next = cell + this.covers(cell) - 1; next >= cell; next--) entries[--starts[next]!] = at;
    }
    return entries;
  }
}
