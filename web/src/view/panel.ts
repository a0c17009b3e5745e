/** One panel: its caption, heads and cells, its zoom, and the cell that keys move. */

import { atOnce, pause, type Work } from "../scene/pieces";
import type { Panel } from "../scene/types";
import type { Desk, Glance, Pinning } from "./desk";
import { button, make, short } from "./dom";
import { clamp, Line } from "./geometry";
import { attend } from "./gestures";
import { BLOCK_NAME, placeHeads } from "./heads";
import type { Lit } from "./lit";
import { dashed, fontFor, LETTER, outline, paintCells, type Label, type Sight } from "./paint";
import { Table } from "./placed";
import { cellText, cellWhere, cellWords, headNames, headText, usualLength } from "./words";

const HEAD_FONT = 11;
const COLUMN_HEAD = 16;
const BLOCK_GAP = 14;
const TALLEST = 680;
const LEAST_WIDTH = 230;
const MOST_OUTLINES = 20000;
const STEP_OF_ZOOM = 1.5;
/** Cells grow to so many times what is enough to read them. */
const NEAREST = 1.25;

/** A cell of the table, by row and column. */
export interface At {
  row: number;
  column: number;
}

export class PanelView {
  readonly element: HTMLElement;
  readonly grid: HTMLElement;
  readonly table: Table;
  /** The cell that keys move, once there is one. */
  cursor: At | null = null;
  zoom = 1;
  readonly #stage = make("div", { class: "stage" });
  readonly #top = make("div", { class: "heads top", "aria-hidden": "true" });
  readonly #side = make("div", { class: "heads side", "aria-hidden": "true" });
  readonly #base = make("canvas", { "aria-hidden": "true" });
  readonly #over = make("canvas", { "aria-hidden": "true" });
  readonly #row = make("div", { role: "row" });
  readonly #axes = make("span", { class: "axes" });
  readonly #spoken: HTMLElement;
  readonly #zooms: HTMLElement;
  readonly #detach: () => void;
  readonly #lengths: readonly [number, number];
  readonly #gutter: number;
  #ranks: Uint8Array | null = null;
  #fit = { across: new Line(1, 1, 1, 0), down: new Line(1, 1, 1, 0), width: 1, height: 1 };
  #sized = false;
  /** Nothing is on the canvas of highlights. */
  #clean = true;
  #painted = false;
  #framed = false;
  #filled = false;
  #left = 0;
  #above = 0;
  #anchor: At | null = null;
  #dragged: [number, number] | null = null;
  #looked: readonly number[] = [];

  constructor(
    readonly lit: Lit,
    readonly panel: Panel,
    private readonly number: number,
    private readonly desk: Desk,
    id: string,
  ) {
    this.table = new Table(lit.scene, panel);
    this.#lengths = [usualLength(lit, panel, false), usualLength(lit, panel, true)];
    this.#gutter = this.#gutterWidth();
    this.#spoken = make("div", { role: "gridcell", id: `${id}-cell` });
    this.#row.append(this.#spoken);
    this.grid = make(
      "div",
      {
        class: "grid",
        role: "grid",
        tabindex: 0,
        "aria-label": `${short(panel.title, 200)}: ${this.table.rows} rows, ${this.table.columns} columns`,
        "aria-rowcount": this.table.rows,
        "aria-colcount": this.table.columns,
        "aria-multiselectable": "true",
        "aria-activedescendant": `${id}-cell`,
      },
      this.#base,
      this.#over,
      this.#row,
    );
    this.#stage.append(this.#top, this.#side, this.grid);
    const name = short(panel.title, 200);
    this.#zooms = make(
      "span",
      { class: "zooms" },
      button("−", `Zoom out of ${name}`, () => this.zoomBy(1 / STEP_OF_ZOOM)),
      button("+", `Zoom into ${name}`, () => this.zoomBy(STEP_OF_ZOOM)),
      button("fit", `Show all of ${name}`, () => this.zoomBy(0)),
    );
    this.element = make(
      "figure",
      { class: "panel", "data-panel": short(panel.id, 60), "data-kind": short(panel.kind, 60) },
      make("figcaption", {}, make("span", { class: "name" }, name), this.#zooms, this.#axes),
      this.#stage,
    );
    this.element.inert = true; // until it is filled
    this.#detach = attend(this);
    this.#say();
  }

  /** Stop listening. */
  end(): void {
    this.#detach();
  }

  /** The width that lets every cell be read, and all be seen. */
  likedWidth(): number {
    const { pitch } = this.#liked();
    return Math.max(LEAST_WIDTH, Math.ceil(this.#acrossOf(pitch).length) + this.#gutter);
  }

  /** Take this width, and paint. */
  resize(width: number): void {
    const room = Math.max(40, width - this.#gutter);
    const [, blockColumns] = this.panel.blocks;
    const { columns, rows } = this.table;
    const gaps = (blockColumns - 1) * BLOCK_GAP;
    let { pitch, tall } = this.#liked();
    const bare = this.#downOf(0).length;
    pitch = Math.min(pitch, (room - gaps) / columns);
    tall = Math.min(tall, Math.max(0.05, (TALLEST - bare) / rows));
    const { slots } = this.panel;
    const wide = this.table.wide;
    if (tall < 12) pitch = Math.min(pitch, Math.max((tall * 2.5) / slots, Math.min(room, 180) / columns));
    else if (pitch * slots * wide < 9) tall = Math.min(tall, Math.max(pitch * slots * 2.5, 120 / rows));
    pitch = Math.max(pitch, 0.01);
    const [across, down] = [this.#acrossOf(pitch), this.#downOf(tall)];
    this.#fit = { across, down, width: Math.ceil(across.length), height: Math.ceil(down.length) };
    this.zoom = Math.min(this.zoom, this.#mostZoom());
    this.element.style.width = `${Math.max(this.#gutter + this.#fit.width, Math.min(width, LEAST_WIDTH))}px`;
    this.#stage.style.height = `${this.#fit.height + this.#headHeight()}px`;
    for (const [part, left, top, wide, high] of [
      [this.grid, this.#gutter, this.#headHeight(), this.#fit.width, this.#fit.height],
      [this.#top, this.#gutter, 0, this.#fit.width, this.#headHeight()],
      [this.#side, 0, this.#headHeight(), this.#gutter, this.#fit.height],
    ] as const) {
      part.style.left = `${left}px`;
      part.style.top = `${top}px`;
      part.style.width = `${wide}px`;
      part.style.height = `${high}px`;
    }
    this.#sized = true;
    this.paint(true);
  }

  /** Find all cells, which takes a while where they are many, and paint where they are `seen`. */
  *fill(seen: () => boolean): Work<void> {
    yield* this.table.locate();
    const before = (this.#ranks = new Uint8Array(0));
    const ranks = yield* this.table.ranks(this.lit);
    if (this.#ranks === before) this.#ranks = ranks; // what is lit may be another by now
    this.element.inert = false;
    this.#filled = true;
    if (!seen()) return;
    this.paint();
    this.#say();
    yield* pause(ranks.length);
  }

  /** What is lit is another. */
  relight(seen: boolean): void {
    this.#ranks = null;
    this.#painted = false;
    if (!seen || !this.#sized) return;
    this.paint();
    this.#say();
  }

  /** Paint all but the highlights, where that has not been done, or has to be done `anew`. */
  paint(anew = false): void {
    if (!this.#sized || !this.#filled || (this.#painted && !anew)) return;
    this.#painted = true;
    const sight = this.#sight();
    resized(this.#base, sight);
    this.#ranks ??= atOnce(this.table.ranks(this.lit));
    const context = this.#base.getContext("2d");
    if (!context) return;
    const palette = this.desk.palette();
    const font = this.#font(sight);
    const brief = font === 0 || this.#fontOf(sight, false) === 0;
    paintCells(context, sight, this.table, this.#ranks, palette, font, (cell) => this.#label(cell, brief));
    if (anew || !this.#framed) this.#frame(sight, font, brief);
    this.#highlight();
  }

  /** What stands around the cells: it is another where others are in sight, not where others are lit. */
  #frame(sight: Sight, font: number, brief: boolean): void {
    this.#framed = true;
    this.#axes.textContent = this.#axesWords(brief && font > 0);
    placeHeads(this.#top, this.#side, this.panel, sight, this.#headHeight());
    this.#zooms.hidden = this.zoom === 1 && font > 0;
    this.grid.classList.toggle("zoomed", this.zoom > 1);
  }

  /** Outline the cells of elements (positions), with all their copies. */
  look(positions: readonly number[]): void {
    this.#looked = positions;
    this.#highlight();
  }

  /** The cell at a point of the grid. */
  at(x: number, y: number): At | null {
    const { across, down } = this.#lines();
    const [row, column] = [down.at(y + this.#above), across.at(x + this.#left)];
    return row < 0 || column < 0 ? null : { row, column };
  }

  /** The nearest cell to a point of the grid. */
  near(x: number, y: number): At {
    const { across, down } = this.#lines();
    return { row: down.near(y + this.#above), column: across.near(x + this.#left) };
  }

  /** Look at a cell, or at none. */
  glance(at: At | null): void {
    this.desk.glance(at && this.#glanceAt(at));
  }

  /** Pin what a cell has; `range` is from the cell that was pinned before. */
  pin(at: At, how: Pinning): void {
    if (how === "range" && this.#anchor) {
      this.desk.pin(this.#between(this.#anchor, at), "range");
      return;
    }
    this.#anchor = at;
    this.desk.pin(this.#glanceAt(at).elements, how);
  }

  /** Pin a rectangle while it is drawn; null when it is done. */
  drag(from: At, to: At | null): void {
    if (!to) {
      this.#dragged = null;
      this.#highlight();
      return;
    }
    const dragged: [number, number] = [this.#cellOf(from), this.#cellOf(to)];
    if (this.#dragged?.every((cell, i) => cell === dragged[i])) return;
    this.#anchor = from;
    this.#dragged = dragged;
    this.desk.pin(this.#between(from, to), "range");
    this.#highlight(); // where too many are in it nothing is painted anew
  }

  /** Move the cell of the keys, and bring it in sight. */
  moveTo(at: At): void {
    const { rows, columns } = this.table;
    this.cursor = { row: clamp(at.row, 0, rows - 1), column: clamp(at.column, 0, columns - 1) };
    this.#reveal(this.cursor);
    this.#say();
    this.glance(this.cursor);
  }

  /** Where a range that keys draw begins. */
  holdAnchor(): void {
    this.#anchor ??= this.cursor;
  }

  letAnchorGo(): void {
    this.#anchor = null;
  }

  /** Zoom to a point of the grid, by a factor; 0 shows all. */
  zoomBy(factor: number, x = this.#fit.width / 2, y = this.#fit.height / 2): void {
    const { across, down } = this.#lines();
    const [u, v] = [fraction(across, x + this.#left), fraction(down, y + this.#above)];
    this.zoom = factor === 0 ? 1 : clamp(this.zoom * factor, 1, this.#mostZoom());
    const after = this.#lines();
    this.#panTo(pixel(after.across, u) - x, pixel(after.down, v) - y);
  }

  /** Zoom to the cell of the keys; to the middle where there is none in sight. */
  zoomAtCursor(factor: number): void {
    const { across, down } = this.#lines();
    const { row, column } = this.cursor ?? { row: 0, column: 0 };
    const x = across.start(column) + across.pitch / 2 - this.#left;
    const y = down.start(row) + down.pitch / 2 - this.#above;
    const inSight = this.cursor && x >= 0 && y >= 0 && x <= this.#fit.width && y <= this.#fit.height;
    if (inSight) this.zoomBy(factor, x, y);
    else this.zoomBy(factor);
  }

  /** Move what is in sight by so many pixels. */
  panBy(x: number, y: number): void {
    this.#panTo(this.#left + x, this.#above + y);
  }

  /** Whether there is more to see nearer by. */
  zoomable(): boolean {
    return this.zoom > 1 || this.#font(this.#sight()) === 0;
  }

  /** Keep the zoom and the cell of the keys of a panel that this one replaces. */
  keep(other: PanelView): void {
    if (other.table.rows !== this.table.rows || other.table.columns !== this.table.columns) return;
    [this.zoom, this.cursor] = [other.zoom, other.cursor];
    [this.#left, this.#above] = [other.#left, other.#above];
  }

  #panTo(left: number, above: number): void {
    const { across, down } = this.#lines();
    this.#left = clamp(left, 0, Math.max(0, across.length - this.#fit.width));
    this.#above = clamp(above, 0, Math.max(0, down.length - this.#fit.height));
    this.paint(true);
  }

  #reveal(at: At): void {
    if (this.zoom === 1) return;
    const { across, down } = this.#lines();
    const [x, y] = [across.start(at.column), down.start(at.row)];
    const left = clamp(this.#left, x + across.pitch - this.#fit.width, x);
    const above = clamp(this.#above, y + down.pitch - this.#fit.height, y);
    if (left !== this.#left || above !== this.#above) this.#panTo(left, above);
  }

  #lines(): { across: Line; down: Line } {
    const { across, down } = this.#fit;
    const { pitch, tall } = this.#liked();
    return { across: across.grown(this.zoom, NEAREST * pitch), down: down.grown(this.zoom, NEAREST * tall) };
  }

  #sight(): Sight {
    const { width, height } = this.#fit;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 3);
    return { ...this.#lines(), left: this.#left, top: this.#above, width, height, ratio };
  }

  #mostZoom(): number {
    const { pitch, tall } = this.#liked();
    return Math.max(1, (NEAREST * pitch) / this.#fit.across.pitch, (NEAREST * tall) / this.#fit.down.pitch);
  }

  /** The size of letters: of whole texts, else of brief ones; 0 where neither fits. */
  #font(sight: Sight): number {
    return this.#fontOf(sight, false) || this.#fontOf(sight, true);
  }

  #fontOf(sight: Sight, brief: boolean): number {
    return fontFor(sight, this.#lengths[brief ? 1 : 0], this.table.wide);
  }

  #highlight(): void {
    const keyed = this.cursor !== null && this.grid.matches(":focus-visible");
    const nothing = !this.#looked.length && !this.#dragged && !keyed;
    if ((nothing && this.#clean) || !this.#filled) return;
    this.#clean = nothing;
    const sight = this.#sight();
    resized(this.#over, sight);
    const context = this.#over.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, this.#over.width, this.#over.height);
    const palette = this.desk.palette();
    const cells: number[] = [];
    for (const position of this.#looked) {
      for (let copy = 0; copy < this.lit.copies && cells.length < MOST_OUTLINES; copy++) {
        const cell = this.table.cellOf[position * this.table.copies + copy]!;
        if (cell < 0) continue;
        const [start, end] = this.table.run(cell);
        if (end - start > 1) cells.push(start);
        else for (let next = 0; next < this.table.covers(cell); next++) cells.push(cell + next);
      }
    }
    outline(context, sight, this.table, cells, palette);
    if (this.#dragged) dashed(context, sight, this.table, ...this.#dragged, palette);
    if (keyed) {
      const cell = this.#cellOf(this.cursor!);
      dashed(context, sight, this.table, cell, cell, palette);
    }
  }

  #label(cell: number, brief: boolean): Label | null {
    const entries = this.table.at(cell);
    const rank = this.#ranks![cell];
    const entry = entries.length > 1 ? entries.find((at) => this.lit.rank(at) === rank) : entries[0];
    if (entry === undefined) return null;
    const position = Math.floor(entry / this.table.copies);
    const lanes = this.lit.lanesOf(position);
    const text = lanes.length ? `L${lanes.join(",")}` : cellText(this.lit, this.panel, entry, brief);
    return { text, several: entries.some((at) => Math.floor(at / this.table.copies) !== position) };
  }

  #glanceAt(at: At): Glance {
    const { copies } = this.table;
    const elements = new Set<number>();
    for (const entry of this.table.at(this.#cellOf(at))) {
      if (entry % copies < this.lit.copies) elements.add(this.lit.flat(Math.floor(entry / copies)));
    }
    const where = `${short(this.panel.title, 80)}, ${cellWhere(this.panel, at.row, at.column)}`;
    return { elements: [...elements], scene: this.number, panel: this.panel.id, where };
  }

  #between(a: At, b: At): number[] {
    const { copies } = this.table;
    const [left, right] = a.column < b.column ? [a.column, b.column] : [b.column, a.column];
    const known = new Uint8Array(this.lit.count);
    const found: number[] = [];
    for (let row = Math.min(a.row, b.row); row <= Math.max(a.row, b.row); row++) {
      const first = this.#cellOf({ row, column: left });
      for (const entry of this.table.at(first, first + right - left)) {
        const position = Math.floor(entry / copies);
        if (!known[position]) found.push(this.lit.flat(position));
        known[position] = 1;
      }
    }
    return found;
  }

  #cellOf(at: At): number {
    return at.row * this.table.columns + at.column;
  }

  /** Tell assistive technology which cell the keys are at. */
  #say(): void {
    const { row, column } = this.cursor ?? { row: 0, column: 0 };
    this.#row.setAttribute("aria-rowindex", String(row + 1));
    this.#spoken.setAttribute("aria-colindex", String(column + 1));
    this.#spoken.setAttribute("aria-selected", String((this.#ranks?.[this.#cellOf({ row, column })] ?? 0) > 16));
    this.#spoken.textContent = cellWhere(this.panel, row, column);
  }

  #liked(): { pitch: number; tall: number } {
    const { rows, columns } = this.table;
    const { slots } = this.panel;
    const letters = clamp(this.#lengths[0], 1, 12) * LETTER * 12 + 10;
    const least = columns <= 8 ? 38 : columns <= 16 ? 32 : 20;
    const wide = this.table.wide;
    const pitch = Math.max(letters / wide, least / slots / wide);
    const tall = rows <= 12 ? clamp(pitch * slots * wide, 24, 34) : rows <= 20 ? 26 : 20;
    return { pitch, tall };
  }

  /** Between blocks there is room for their names. */
  #acrossOf(pitch: number): Line {
    return new Line(this.panel.blocks[1], this.panel.cells[1] * this.panel.slots, pitch, BLOCK_GAP);
  }

  #downOf(pitch: number): Line {
    return new Line(this.panel.blocks[0], this.panel.cells[0], pitch, BLOCK_NAME + 6);
  }

  #headHeight(): number {
    const { blocks } = this.panel;
    return blocks[0] * blocks[1] > 1 ? COLUMN_HEAD + BLOCK_NAME : COLUMN_HEAD;
  }

  #gutterWidth(): number {
    const rows = this.panel.cells[0];
    let most = 1;
    for (let row = 0; row < rows; row += Math.max(1, Math.floor(rows / 32))) {
      most = Math.max(most, headText(this.panel.row_heads, row).length);
    }
    most = Math.max(most, headText(this.panel.row_heads, rows - 1).length);
    return Math.ceil(Math.min(most, 10) * HEAD_FONT * LETTER + 8);
  }

  #axesWords(brief: boolean): string {
    const rows = headNames(this.panel.row_heads, this.panel.row_name);
    const columns = headNames(this.panel.column_heads, this.panel.column_name);
    const parts = [`cells ${cellWords(this.lit.scene, this.panel, brief)}`];
    if (columns === "+") return [`${rows} = row + column`, ...parts].join(" · ");
    if (columns && columns !== "column") parts.unshift(`columns ${columns}`);
    if (rows && rows !== "row") parts.unshift(`rows ${rows}`);
    return parts.join(" · ");
  }
}

/** Where a pixel is, in cells. */
function fraction(line: Line, at: number): number {
  const near = line.near(at);
  return near + clamp((at - line.start(near)) / line.pitch, 0, 1);
}

function pixel(line: Line, at: number): number {
  const cell = clamp(Math.floor(at), 0, line.total - 1);
  return line.start(cell) + (at - cell) * line.pitch;
}

function resized(canvas: HTMLCanvasElement, sight: Sight): void {
  const [width, height] = [Math.round(sight.width * sight.ratio), Math.round(sight.height * sight.ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
