/** Cells on a canvas: one by one where they are few, pixel by pixel where they are many. */

import { clamp, type Line } from "./geometry";
import { FADED, STRONG } from "./lit";
import type { Palette } from "./palette";
import type { Table } from "./placed";

/** Above so many cells in sight they are painted pixel by pixel. */
const MOST_ONE_BY_ONE = 16384;
const MONOSPACE = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";
/** The width of a letter in its height. */
export const LETTER = 0.6;
const LEAST_FONT = 9;
/** Smaller cells are all colour. */
const BORDERED = 12;

/** What part of a panel is in sight, in CSS pixels. */
export interface Sight {
  across: Line;
  down: Line;
  left: number;
  top: number;
  width: number;
  height: number;
  /** Device pixels in a CSS pixel. */
  ratio: number;
}

/** What stands in a cell; a cell of several elements is marked. */
export interface Label {
  text: string;
  several: boolean;
}

/** The size of letters that `length` of them fit in an element of so many cells; 0 where they do not. */
export function fontFor(sight: Sight, length: number, wide: number): number {
  const { across, down } = sight;
  const fitting = Math.min((across.pitch * wide - 7) / (length * LETTER), down.pitch * 0.6);
  return fitting < LEAST_FONT ? 0 : Math.min(fitting, 12.5);
}

/** The cells in sight, with letters of so many CSS pixels. */
export function paintCells(
  context: CanvasRenderingContext2D,
  sight: Sight,
  table: Table,
  ranks: Uint8Array,
  palette: Palette,
  letters: number,
  label: (cell: number) => Label | null,
): void {
  const { width, height } = context.canvas;
  const [first, last] = inSight(sight.across, sight.left, sight.width);
  const [top, bottom] = inSight(sight.down, sight.top, sight.height);
  if ((last - first + 1) * (bottom - top + 1) > MOST_ONE_BY_ONE) {
    paintPixels(context, sight, table, ranks, palette);
    return;
  }
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, width, height);
  const font = letters * sight.ratio;
  context.font = `${font}px ${MONOSPACE}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = top; row <= bottom; row++) {
    for (let column = first; column <= last; column++) {
      const cell = row * table.columns + column;
      const rank = ranks[cell]!;
      const [start, end] = table.run(cell);
      if (start < cell && column > first) continue;
      const box = boxOf(sight, table, start, end);
      context.fillStyle = fillOf(palette, rank);
      context.fillRect(box.x, box.y, box.width, box.height);
      if (rank === 0) continue;
      const how = (rank - 1) >> 3;
      if (how === STRONG && Math.min(box.width, box.height) > BORDERED * sight.ratio) {
        border(context, box, palette.ink, sight.ratio * 1.5);
      }
      if (!font) continue;
      const said = label(cell);
      if (said) write(context, said, box, inkOf(palette, rank), font);
    }
  }
}

/** Outlines of cells, which are seen on every colour. */
export function outline(
  context: CanvasRenderingContext2D,
  sight: Sight,
  table: Table,
  cells: Iterable<number>,
  palette: Palette,
): void {
  const { ratio } = sight;
  context.beginPath();
  for (const cell of cells) {
    const box = boxOf(sight, table, ...table.run(cell));
    const grown = Math.max(0, 7 * ratio - Math.min(box.width, box.height)) / 2;
    const [x, y, width, height] = [box.x - grown, box.y - grown, box.width + 2 * grown, box.height + 2 * grown];
    if (x + width < 0 || y + height < 0 || x > context.canvas.width || y > context.canvas.height) continue;
    context.rect(x + ratio, y + ratio, Math.max(1, width - 2 * ratio), Math.max(1, height - 2 * ratio));
  }
  context.lineJoin = "round";
  context.strokeStyle = palette.paper;
  context.lineWidth = 5 * ratio;
  context.stroke();
  context.strokeStyle = palette.ink;
  context.lineWidth = 2.25 * ratio;
  context.stroke();
}

/** A dashed box around cells from one corner to the other. */
export function dashed(
  context: CanvasRenderingContext2D,
  sight: Sight,
  table: Table,
  from: number,
  to: number,
  palette: Palette,
): void {
  const [a, b] = [boxOf(sight, table, from, from + 1), boxOf(sight, table, to, to + 1)];
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  const width = Math.max(a.x + a.width, b.x + b.width) - x;
  const height = Math.max(a.y + a.height, b.y + b.height) - y;
  context.setLineDash([4 * sight.ratio, 3 * sight.ratio]);
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.5 * sight.ratio;
  context.strokeRect(x, y, width, height);
  context.setLineDash([]);
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The cells from one to another of a row in device pixels, less the gap after them. */
function boxOf(sight: Sight, table: Table, from: number, to: number): Box {
  const { across, down, ratio } = sight;
  const row = Math.floor(from / table.columns);
  const [first, last] = [from - row * table.columns, to - 1 - row * table.columns];
  const x = Math.round((across.start(first) - sight.left) * ratio);
  const y = Math.round((down.start(row) - sight.top) * ratio);
  const right = Math.round((across.start(last) + across.pitch - sight.left) * ratio);
  const bottom = Math.round((down.start(row) + down.pitch - sight.top) * ratio);
  const between = endsCell(table, last) ? gap(across, ratio) : 0;
  return { x, y, width: Math.max(1, right - x - between), height: Math.max(1, bottom - y - gap(down, ratio)) };
}

function gap(line: Line, ratio: number): number {
  return line.pitch >= 4 ? Math.max(1, Math.round(ratio)) : 0;
}

function endsCell(table: Table, column: number): boolean {
  return (column + 1) % table.panel.slots === 0;
}

function inSight(line: Line, from: number, length: number): [number, number] {
  return [line.near(from), line.near(from + length)];
}

/** Each pixel has the colour of the cell that it is in; where cells are smaller, the mean of all of its own. */
function paintPixels(
  context: CanvasRenderingContext2D,
  sight: Sight,
  table: Table,
  ranks: Uint8Array,
  palette: Palette,
): void {
  const { width, height } = context.canvas;
  const image = context.createImageData(width, height);
  const pixels = new Int32Array(image.data.buffer);
  const columns = sharedOf(sight.across, sight.left, width, sight.ratio, (column) => endsCell(table, column));
  const rows = sharedOf(sight.down, sight.top, height, sight.ratio, () => true);
  const mixer = mixerOf(columns, palette);
  const { paper } = palette.packed;
  let row = 0;
  for (let y = 0; y < height; y++) {
    const from = y * width;
    const group = rows.ofPixels[y]!;
    if (group < 0) {
      pixels.fill(paper, from, from + width);
    } else if (y > 0 && group === rows.ofPixels[y - 1]) {
      pixels.copyWithin(from, from - width, from);
    } else {
      while (rows.ofCells[row]! < group) row++;
      const first = row;
      for (; rows.ofCells[row] === group; row++) mixer.add(ranks, (rows.first + row) * table.columns);
      mixer.write(pixels, from, row - first);
    }
  }
  context.putImageData(image, 0, 0);
}

/** The cells in sight in one direction, in groups that have one colour each, by their numbers. */
interface Shared {
  /** The first cell in sight. */
  first: number;
  /** The groups of the cells from there on, in order: their own, or those of the pixels that their middles are in. */
  ofCells: Int32Array;
  /** The group of each pixel; -1 in the gaps. */
  ofPixels: Int32Array;
}

function sharedOf(
  line: Line,
  from: number,
  count: number,
  ratio: number,
  ends: (cell: number) => boolean,
): Shared {
  const [first, last] = inSight(line, from, count / ratio);
  const ofCells = new Int32Array(last - first + 1).map((_, at) => at);
  const ofPixels = cellsOfPixels(line, from, count, ratio, ends).map((cell) => (cell < 0 ? cell : cell - first));
  if (line.pitch * ratio >= 1) return { first, ofCells, ofPixels };
  const isOwner = new Uint8Array(count);
  for (let at = 0; at < ofCells.length; at++) {
    const middle = line.start(first + at) + line.pitch / 2 - from;
    ofCells[at] = clamp(Math.floor(middle * ratio), 0, count - 1);
    isOwner[ofCells[at]!] = 1;
  }
  return { first, ofCells, ofPixels: ofPixels.map((at, pixel) => (isOwner[pixel] ? pixel : at < 0 ? at : ofCells[at]!)) };
}

/** Red, and green times this, are one sum: no red grows so large. */
const GREEN = 2 ** 26;
const OPAQUE = 255 << 24;
/** More than what a quotient may lack, and less than what those of other sums are apart. */
const TINY = 2 ** -30;

/** Rows are added, then the means of their columns' groups are written. */
interface Mixer {
  add(ranks: Uint8Array, start: number): void;
  write(pixels: Int32Array, from: number, rows: number): void;
}

function mixerOf({ first, ofCells, ofPixels }: Shared, { packed }: Palette): Mixer {
  const groups = ofCells[ofCells.length - 1]! + 1;
  const [sums, blue] = [new Float64Array(groups), new Float64Array(groups)];
  const [sizes, means] = [new Int32Array(groups), new Int32Array(groups)];
  for (const group of ofCells) sizes[group]!++;
  const parts = Float64Array.from(packed.ranks, (colour) => (colour & 255) + ((colour >> 8) & 255) * GREEN);
  const blues = Float64Array.from(packed.ranks, (colour) => (colour >> 16) & 255);
  return {
    add(ranks, start) {
      for (let at = 0; at < ofCells.length; at++) {
        const group = ofCells[at]!;
        const rank = ranks[start + first + at]!;
        sums[group]! += parts[rank]!;
        blue[group]! += blues[rank]!;
      }
    },
    write(pixels, from, rows) {
      for (let group = 0; group < groups; group++) {
        const part = 1 / (rows * sizes[group]!);
        const green = (sums[group]! / GREEN) | 0;
        const red = sums[group]! - green * GREEN;
        means[group] = OPAQUE | (round(blue[group]! * part) << 16) | (round(green * part) << 8) | round(red * part);
        sums[group] = blue[group] = 0;
      }
      for (let x = 0; x < ofPixels.length; x++) {
        const group = ofPixels[x]!;
        pixels[from + x] = group < 0 ? packed.paper : means[group]!;
      }
    },
  };
}

function round(mean: number): number {
  return (mean + 0.5 + TINY) | 0;
}

/** The cell of each pixel of a row, or of a column; -1 in the gaps. */
function cellsOfPixels(
  line: Line,
  from: number,
  count: number,
  ratio: number,
  ends: (cell: number) => boolean,
): Int32Array {
  const cells = new Int32Array(count);
  for (let pixel = 0; pixel < count; pixel++) cells[pixel] = line.at((pixel + 0.5) / ratio + from);
  const between = gap(line, ratio);
  if (between) {
    const whole = cells.slice();
    for (let pixel = 0; pixel < count; pixel++) {
      const next = whole[Math.min(pixel + between, count - 1)]!;
      if (whole[pixel]! >= 0 && next !== whole[pixel] && ends(whole[pixel]!)) cells[pixel] = -1;
    }
  }
  return cells;
}

function fillOf(palette: Palette, rank: number): string {
  if (rank === 0) return palette.empty;
  const colour = (rank - 1) & 7;
  const how = (rank - 1) >> 3;
  return (how === STRONG ? palette.strong : how === FADED ? palette.faded : palette.fills)[colour]!;
}

function inkOf(palette: Palette, rank: number): string {
  const how = (rank - 1) >> 3;
  if (how === STRONG) return palette.strongText[(rank - 1) & 7]!;
  return how === FADED ? palette.quiet : palette.ink;
}

function border(context: CanvasRenderingContext2D, box: Box, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(box.x + width / 2, box.y + width / 2, box.width - width, box.height - width);
}

function write(context: CanvasRenderingContext2D, label: Label, box: Box, colour: string, font: number): void {
  const room = Math.floor((box.width - 2) / (font * LETTER));
  context.fillStyle = colour;
  context.fillText(fitted(label.text, room), box.x + box.width / 2, box.y + box.height / 2 + font * 0.06);
  if (!label.several) return;
  const side = Math.max(4, font * 0.45);
  context.beginPath();
  context.moveTo(box.x + box.width - side, box.y);
  context.lineTo(box.x + box.width, box.y);
  context.lineTo(box.x + box.width, box.y + side);
  context.fill();
}

/** A text that is longer than its cell loses the L of lanes or its copies first, then its end. */
function fitted(whole: string, room: number): string {
  if (whole.length <= room) return whole;
  const text = whole.replace(/^L/, "");
  const first = text.replace(/\|[^:]*/g, "…");
  return first.length <= room ? first : `${first.slice(0, Math.max(1, room - 1))}…`;
}
