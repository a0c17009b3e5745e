/** The numbers beside rows, above columns and above blocks: as many as have room. */

import type { Panel } from "../scene/types";
import type { Line } from "./geometry";
import { make, short } from "./dom";
import { LETTER, type Sight } from "./paint";
import { headText, headWords } from "./words";

/** The height of a line of names of blocks. */
export const BLOCK_NAME = 17;
/** For so many letters of a head there is room beside a row. */
const BESIDE = 10;

const FONT = 11;
/** A block of which less is in sight has no name. */
const NAME = 24;
const MOST = 400;

/** Fill both strips of heads for what is in sight; the upper one has a height. */
export function placeHeads(
  top: HTMLElement,
  side: HTMLElement,
  panel: Panel,
  sight: Sight,
  height: number,
): void {
  const columns: HTMLElement[] = [];
  const { slots } = panel;
  const width = widest(panel.cells[1], (at) => headText(panel.column_heads, at)) * FONT * LETTER + 5;
  const across = every(width / (sight.across.pitch * slots));
  for (const column of seen(sight.across, sight.left, sight.width)) {
    const inside = column % sight.across.cells;
    if (inside % slots || (inside / slots) % across) continue;
    const x = sight.across.start(column) - sight.left + (sight.across.pitch * slots) / 2;
    if (x < 0 || x > sight.width || columns.length > MOST) continue;
    const head = make("span", {}, headText(panel.column_heads, inside / slots));
    head.style.left = `${x}px`;
    columns.push(head);
  }

  const rows: HTMLElement[] = [];
  const down = every(13 / sight.down.pitch);
  for (const row of seen(sight.down, sight.top, sight.height)) {
    const inside = row % sight.down.cells;
    const y = sight.down.start(row) - sight.top + sight.down.pitch / 2;
    if (inside % down || y < 0 || y > sight.height || rows.length > MOST) continue;
    const head = make("span", {}, ended(headText(panel.row_heads, inside)));
    head.style.top = `${y}px`;
    rows.push(head);
  }
  side.replaceChildren(...rows);
  top.replaceChildren(...columns, ...blockHeads(panel, sight, height));
}

/** The names of blocks stand above each; of the first row in sight, above the heads of columns. */
function blockHeads(panel: Panel, sight: Sight, strip: number): HTMLElement[] {
  const [blockRows, blockColumns] = panel.blocks;
  const heads: HTMLElement[] = [];
  if (blockRows * blockColumns === 1) return heads;
  const { across, down } = sight;
  const room = Math.floor((across.cells * across.pitch + across.gap) / (FONT * LETTER));
  const first = Math.floor(down.near(sight.top) / down.cells);
  const last = Math.floor(down.near(sight.top + sight.height) / down.cells);
  for (let i = first; i <= last; i++) {
    const y = i === first ? 0 : strip + down.start(i * down.cells) - sight.top - BLOCK_NAME;
    for (let j = 0; j < blockColumns; j++) {
      const x = Math.max(0, across.start(j * across.cells) - sight.left);
      const end = across.start((j + 1) * across.cells - 1) + across.pitch - sight.left;
      if (end - x < NAME || x > sight.width - NAME || heads.length > MOST) continue;
      const text = blockWords(panel, i, j, room);
      if (!text) continue;
      const head = make("span", { class: "block" }, text);
      head.style.left = `${x}px`;
      head.style.top = `${y}px`;
      heads.push(head);
    }
  }
  return heads;
}

function blockWords(panel: Panel, i: number, j: number, room: number): string {
  const parts: [typeof panel.row_heads, number][] = [];
  if (panel.blocks[0] > 1) parts.push([panel.block_row_heads, i]);
  if (panel.blocks[1] > 1) parts.push([panel.block_column_heads, j]);
  const name = short(panel.block_name, 60) || "block";
  const whole = parts.map(([heads, at]) => headWords(heads, name, at)).join(", ");
  if (whole.length <= room) return whole;
  const numbers = parts.map(([heads, at]) => headText(heads, at)).join(", ");
  return numbers.length <= room ? numbers : "";
}

/** The end of a long head, in which rows that follow one another differ. */
function ended(text: string): string {
  return text.length > BESIDE ? `…${text.slice(1 - BESIDE)}` : text;
}

function widest(count: number, text: (at: number) => string): number {
  let most = 1;
  const stride = Math.max(1, Math.floor(count / 32));
  for (let at = 0; at < count; at += stride) most = Math.max(most, text(at).length);
  return Math.max(most, text(count - 1).length);
}

/** Every so many: a power of two that leaves room. */
function every(least: number): number {
  return least <= 1 ? 1 : 2 ** Math.ceil(Math.log2(least));
}

function* seen(line: Line, from: number, length: number): Generator<number> {
  const last = line.near(from + length);
  for (let at = line.near(from); at <= last; at++) yield at;
}
