/** Which panels a layout is drawn in, by the axes on which it lives. */

import type { Layout } from "../core";
import { ONE, along, banked, extent, nameOf, ofIndex, packed, packs, wrapped, type Line, type Packed } from "./lines";
import { MOST_CELLS, MOST_PARTS, product, type Logical } from "./logical";
import type { Axis, Note, Panel } from "./types";

/** What panels are chosen by. */
export interface Part {
  readonly layout: Layout;
  readonly logical: Logical;
  readonly axes: readonly Axis[];
  readonly bits: number | null;
  readonly base: number;
}

/** Owners that are rows of registers, the first of them that there is. */
const LANES = ["laneid", "tid_in_wg", "tx"];
const TENSOR_MEMORY = ["TLane", "TCol"];
const TENSOR_LANES = 128;
const ROW = 16;
const [NARROWEST, WIDEST] = [4, 64];
/** Blocks stand side by side as long as they have no more columns together. */
const BROAD = 64;

/** The panels of a scene, and why some are not drawn. */
export function panelsOf(part: Part): [Panel[], Note[]] {
  const panels = [indexPanel(part)];
  const notes: Note[] = [];
  for (const panel of panelsOfPlaces(part)) {
    const tooMany = tooManyOf(panel);
    if (!tooMany) {
      panels.push(panel);
      continue;
    }
    const text = `${panel.kind} is not drawn: it has more than ${tooMany}; a window may have fewer`;
    notes.push({ kind: "hint", text });
  }
  if (part.bits !== null && !packs(part.bits)) {
    notes.push({ kind: "hint", text: `elements of ${part.bits} bits fill no words: panels count elements` });
  }
  return [panels, notes];
}

function tooManyOf({ blocks, cells, slots }: Panel): string {
  const count = blocks[0] * blocks[1] * cells[0] * cells[1];
  if (count > MOST_CELLS) return `${MOST_CELLS} cells`;
  return count * slots > MOST_PARTS ? `room for ${MOST_PARTS} elements` : "";
}

function panelsOfPlaces(part: Part): Panel[] {
  const devices = part.axes.filter((axis) => axis.kind === "device");
  const tensor = part.axes.filter((axis) => TENSOR_MEMORY.includes(axis.name));
  const owners = part.axes.filter((axis) => axis.kind === "owner" && !tensor.includes(axis));
  const storage = part.axes.filter((axis) => axis.kind === "storage" && !tensor.includes(axis));
  const memory = (axes: readonly Axis[]): Panel[] => axes.map((axis) => memoryPanel(part, axis));
  if (devices.length) {
    const inside = owners.length || !tensor.length ? storage.slice(1) : storage;
    const apart = owners.length && tensor.length ? [tensorMemory(part, tensor, [])] : [];
    return [mesh(part, devices, tensor, owners, storage), ...apart, ...memory(inside)];
  }
  if (tensor.length) return [tensorMemory(part, tensor, owners), ...memory(storage)];
  if (!owners.length && !storage.some((axis) => axis.name === "reg")) return memory(storage);
  const held = [...storage.filter((axis) => axis.name === "reg"), ...storage.filter((axis) => axis.name !== "reg")];
  return [registers(owners, held.slice(0, 1)), ...memory(held.slice(1))];
}

function indexPanel({ logical }: Part): Panel {
  const rows = ofIndex("@row", logical.rows, logical.window[0]);
  const columns = ofIndex("@column", logical.columns, logical.window[1]);
  return { ...panelOf("index", "index", "index", rows, columns), row_name: "row", column_name: "column", text: "places" };
}

function memoryPanel(part: Part, axis: Axis): Panel {
  const called = axis.name === "m" ? "memory" : axis.name;
  const id = `memory:${axis.name}`;
  if (packs(part.bits) && axis.name !== "reg") {
    const [rows, words] = banked(axis, part.bits, 8 * part.base);
    return inWords(panelOf(id, "memory", `${called}, 128 bytes a row`, rows, words.column), words);
  }
  const wide = gridWidth(part);
  return panelOf(id, "memory", `${called}, ${wide} elements a row`, ...wrapped(axis, wide));
}

function inWords(panel: Panel, { slot, slots, width }: Packed): Panel {
  return { ...panel, slot, slots, width };
}

function gridWidth({ logical }: Part): number {
  const broad = product(logical.columns);
  return broad >= NARROWEST && broad <= WIDEST ? Number(broad) : ROW;
}

function registers(owners: readonly Axis[], storage: readonly Axis[]): Panel {
  let [lane, others] = laneOf(owners);
  if (!storage.length && lane && !LANES.includes(lane.name)) {
    [lane, storage, others] = [owners[0]!, owners.slice(1, 2), owners.slice(2)];
  }
  const columns = along(storage);
  const [side, below] = blocksOf(others, columns.extent);
  const title = [...(lane ? [lane] : []), ...storage.slice(0, 1)].map((axis) => axis.name).join(" by ");
  const held = storage.some((axis) => axis.name === "reg");
  const kind = held || (lane && LANES.includes(lane.name)) ? "registers" : "places";
  return inBlocks(panelOf("registers", kind, title, lane ? along([lane]) : ONE, columns), below, side);
}

/** The owner that is the rows, and the others. */
function laneOf(owners: readonly Axis[]): [Axis | null, Axis[]] {
  const known = LANES.map((name) => owners.find((axis) => axis.name === name)).find((axis) => axis);
  const lane = known ?? largest(owners);
  return [lane, owners.filter((axis) => axis !== lane)];
}

/** The axis of most places, the first of such; null where there is none. */
export function largest(axes: readonly Axis[]): Axis | null {
  return axes.reduce<Axis | null>((best, axis) => (best && extent(best) >= extent(axis) ? best : axis), null);
}

/** Blocks side by side, and one below the other: the innermost owner side by side where there is room. */
function blocksOf(owners: readonly Axis[], columns: number): [Line, Line] {
  const [inner, outer] = [along(owners.slice(-1)), along(owners.slice(0, -1))];
  return inner.extent * columns <= BROAD ? [inner, outer] : [outer, inner];
}

function tensorMemory(part: Part, tensor: readonly Axis[], owners: readonly Axis[]): Panel {
  const [rows, column] = [lanesOf(tensor), tensor.find((axis) => axis.name === "TCol")];
  const [side, below] = blocksOf(owners, column ? extent(column) : 1);
  const [title, id] = ["tensor memory", "tensor-memory"];
  if (column && packs(part.bits)) {
    const words = packed(column, part.bits);
    const panel = panelOf(id, title, `${title}, columns of 32 bits`, rows, words.column);
    return inBlocks(inWords(panel, words), below, side);
  }
  return inBlocks(panelOf(id, title, title, rows, column ? along([column]) : ONE), below, side);
}

/** All lanes of tensor memory, where the axis is among them. */
function lanesOf(tensor: readonly Axis[]): Line {
  const axis = tensor.find((own) => own.name === "TLane");
  if (!axis) return ONE;
  const among = axis.low >= 0 && axis.high < TENSOR_LANES;
  return along([among ? { ...axis, low: 0, high: TENSOR_LANES - 1 } : axis]);
}

function mesh(
  part: Part,
  devices: readonly Axis[],
  tensor: readonly Axis[],
  owners: readonly Axis[],
  storage: readonly Axis[],
): Panel {
  const horizontal = devices.find((axis) => axis.name.endsWith("_x")) ?? devices[devices.length - 1]!;
  const down = devices.filter((axis) => axis !== horizontal);
  const [rows, columns, inside] = insideMesh(part, tensor, owners, storage);
  const title = `mesh ${[...down, horizontal].map((axis) => axis.name).join(" by ")}`;
  const panel = panelOf("mesh", "mesh", inside ? `${title}, ${inside} inside` : title, rows, columns);
  return inBlocks(panel, along(down), along([horizontal]));
}

function insideMesh(
  part: Part,
  tensor: readonly Axis[],
  owners: readonly Axis[],
  storage: readonly Axis[],
): [Line, Line, string] {
  const [lane, others] = laneOf(owners);
  const [held] = storage;
  if (lane) {
    const across = [...others, ...storage.slice(0, 1)];
    return [along([lane]), along(across), [lane, ...across].map((axis) => axis.name).join(" by ")];
  }
  if (tensor.length) {
    return [lanesOf(tensor), along(tensor.filter((axis) => axis.name === "TCol")), "tensor memory"];
  }
  if (!held) return [ONE, ONE, ""];
  return [...wrapped(held, runOf(part, held)), held.name === "m" ? "memory" : held.name];
}

/** How wide the rows of a device's memory are: the smallest step of more than 1, which a row has. */
function runOf(part: Part, axis: Axis): number {
  const steps = part.layout.digits
    .filter((digit) => digit.extent > 1n)
    .map((digit) => Math.abs(Number(digit.stride[axis.name] ?? 0n)))
    .filter((wide) => wide >= NARROWEST && wide <= WIDEST);
  return steps.length ? Math.min(...steps) : gridWidth(part);
}

function panelOf(id: string, kind: string, title: string, rows: Line, columns: Line): Panel {
  return {
    id,
    kind: kind as Panel["kind"],
    title,
    blocks: [1, 1],
    cells: [rows.extent, columns.extent],
    row: rows.rule,
    column: columns.rule,
    block_row: [],
    block_column: [],
    slot: [],
    slots: 1,
    row_name: nameOf(rows),
    column_name: nameOf(columns),
    block_name: "",
    text: "index",
    width: 1,
    row_heads: rows.heads,
    column_heads: columns.heads,
    block_row_heads: [],
    block_column_heads: [],
  };
}

function inBlocks(panel: Panel, below: Line, side: Line): Panel {
  return {
    ...panel,
    blocks: [below.extent, side.extent],
    block_row: below.rule,
    block_column: side.rule,
    block_name: [nameOf(below), nameOf(side)].filter((name) => name).join(", "),
    block_row_heads: below.heads,
    block_column_heads: side.heads,
  };
}
