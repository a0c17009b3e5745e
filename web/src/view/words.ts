/** What is said of elements and cells: in cells, in heads, in the line below, and to screen readers. */

import { headValues } from "../scene/cells";
import type { Axis, Heads, Panel, Scene } from "../scene/types";
import { short } from "./dom";
import type { Lit } from "./lit";

const MOST_COPIES = 4;
const MOST_ELEMENTS = 3;
const SAMPLES = 65;

/** The coordinates of an element: `3, 5`. */
export function coordinates(scene: Scene, flat: number): number[] {
  if (!scene.shape.length) return [flat];
  let rest = flat;
  const isRow = scene.order !== "cute";
  const fastestFirst = isRow ? [...scene.shape].reverse() : scene.shape;
  const found = fastestFirst.map((extent, at) => {
    const digit = at === fastestFirst.length - 1 ? rest : rest % extent;
    rest = Math.floor(rest / extent);
    return digit;
  });
  return isRow ? found.reverse() : found;
}

/** Owners first, then storage: the order in which places are said. */
export function axesInOrder(scene: Scene): Axis[] {
  const owners = scene.axes.filter((axis) => axis.kind !== "storage");
  return [...owners, ...scene.axes.filter((axis) => axis.kind === "storage")];
}

/** What stands in the cell of an element; briefly, its index or its place on the last axis. */
export function cellText(lit: Lit, panel: Panel, entry: number, brief: boolean): string {
  const { scene } = lit;
  const position = Math.floor(entry / scene.copies);
  if (panel.text === "index") {
    const flat = lit.flat(position);
    return brief ? String(flat) : coordinates(scene, flat).join(",");
  }
  return axesInOrder(scene)
    .slice(brief ? -1 : 0)
    .map((axis) => copiesOn(scene, axis, position, lit.copies).join("|"))
    .join(":");
}

/** How long the text in a cell is, at most, of elements here and there. */
export function usualLength(lit: Lit, panel: Panel, brief: boolean): number {
  let most = 1;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const position = Math.floor((sample * (lit.count - 1)) / (SAMPLES - 1));
    most = Math.max(most, cellText(lit, panel, position * lit.scene.copies, brief).length);
  }
  return most;
}

/** What the numbers in the cells are: `laneid:reg`, or `index`. */
export function cellWords(scene: Scene, panel: Panel, brief: boolean): string {
  if (panel.text === "index") return scene.shape.length > 1 && !brief ? "coordinates" : "flat indices";
  const axes = axesInOrder(scene).slice(brief ? -1 : 0);
  return short(axes.map((axis) => axis.name).join(":"), 120);
}

function copiesOn(scene: Scene, axis: Axis, position: number, copies: number): string[] {
  const values = scene.places[axis.name]!;
  const first = position * scene.copies;
  const found = new Set<number>();
  for (let copy = 0; copy < copies && found.size <= MOST_COPIES; copy++) found.add(values[first + copy]!);
  const texts = [...found].map(String);
  return texts.length > MOST_COPIES ? [...texts.slice(0, MOST_COPIES), ".."] : texts;
}

/** An element and all its places: `(3, 5): laneid 14, reg 1`. */
export function elementWords(lit: Lit, position: number): string {
  const { scene } = lit;
  return `${name(lit, position)}: ${placesWords(lit, position)}${lanesWords(lit, position)}`;

  function placesWords(of: Lit, at: number): string {
    const places = new Set<string>();
    for (let copy = 0; copy < of.copies && places.size <= MOST_COPIES; copy++) {
      const on = (axis: Axis): string => `${axis.name} ${scene.places[axis.name]![at * scene.copies + copy]}`;
      places.add(axesInOrder(scene).map(on).join(", "));
    }
    const said = [...places].slice(0, MOST_COPIES);
    const more = places.size > MOST_COPIES ? `; ${of.copies} copies in all` : "";
    return said.join("; ") + more;
  }
}

function name(lit: Lit, position: number): string {
  const of = coordinates(lit.scene, lit.flat(position));
  return of.length > 1 ? `(${of.join(", ")})` : String(of[0]);
}

function lanesWords(lit: Lit, position: number): string {
  const lanes = lit.lanesOf(position);
  if (lanes.length === 0) return "";
  const said = lanes.slice(0, MOST_COPIES).join(", ") + (lanes.length > MOST_COPIES ? ", …" : "");
  return ` · asked by lane ${said}`;
}

/** Several elements in a breath: three of them, and how many more. */
export function elementsWords(lit: Lit, positions: readonly number[]): string {
  if (positions.length === 1) return elementWords(lit, positions[0]!);
  const said = positions.slice(0, MOST_ELEMENTS).map((position) => name(lit, position));
  const more = positions.length - said.length;
  const last = more > 0 ? ` and ${more} more` : "";
  return `${said.join(", ")}${last}: ${positions.length} elements`;
}

/** The numbers at a head, with a comma between. */
export function headText(heads: Heads, at: number): string {
  return heads.length ? headValues(heads, at).join(",") : String(at);
}

/** The numbers at a head with their names: `warpid 2`. */
export function headWords(heads: Heads, fallback: string, at: number): string {
  if (heads.length === 0) return `${fallback} ${at}`;
  const values = headValues(heads, at);
  const named = heads.map((head, i) => `${short(head.name, 60) || fallback} ${values[i]}`);
  return named.join(", ");
}

/** What rows or columns are called: the names of their heads. */
export function headNames(heads: Heads, fallback: string): string {
  return short(heads.map((head) => head.name).filter(Boolean).join(",") || fallback, 60);
}

/** Where a small cell of a panel is, by its heads. */
export function cellWhere(panel: Panel, row: number, column: number): string {
  const [rows, columns] = panel.cells;
  const wide = Math.floor(column / panel.slots);
  const parts: string[] = [];
  const [down, across] = [Math.floor(row / rows), Math.floor(wide / columns)];
  const { block_name: name } = panel;
  if (panel.blocks[0] > 1) parts.push(headWords(panel.block_row_heads, name || "block row", down));
  if (panel.blocks[1] > 1) parts.push(headWords(panel.block_column_heads, name || "block", across));
  parts.push(headWords(panel.row_heads, panel.row_name || "row", row % rows));
  parts.push(headWords(panel.column_heads, panel.column_name || "column", wide % columns));
  return parts.join(", ");
}
