/** From a layout to everything that a view draws of it. */

import { LayoutError, byCoordinates, dtypeOf, extentsOf, print, type Layout, type Order, type Shape } from "../core";
import { askedOf } from "./access";
import { turnedIndex } from "./cells";
import { colourOf } from "./colours";
import { difference } from "./compare";
import { gathered } from "./gather";
import { FAR, logicalOf, type Window } from "./logical";
import { notesOf } from "./notes";
import { panelsOf } from "./panels";
import { atOnce, type Work } from "./pieces";
import { SCHEMA, type Document, type Scene, type Step } from "./types";

/** What a scene is asked for, besides its layout. */
export interface Options {
  /** The text that is shown; the canonical text where none is given. */
  title?: string;
  dtype?: string | null;
  shape?: Shape | null;
  window?: Window | null;
  access?: string | null;
  base?: number;
}

/** The scene of a layout, or of a window of its grid in `shape`; with `access` its wavefronts are steps. */
export function sceneOf(layout: Layout, options: Options = {}): Scene {
  return atOnce(sceneWork(layout, options));
}

/** The same in pieces. */
export function* sceneWork(written: Layout, options: Options = {}): Work<Scene> {
  const { dtype = null, shape, window, access = null, base = 0 } = options;
  const layout = byCoordinates(written, shape);
  const element = dtype === null ? null : dtypeOf(dtype);
  const part = logicalOf(layout, shape, window);
  const found = yield* gathered(layout, part);
  checkBase(base);
  const bits = element?.bits ?? null;
  const [panels, hints] = panelsOf({ layout, logical: part, axes: found.axes, bits, base });
  const asked = access === null ? null : yield* askedOf(layout, access, element, base);
  const expression = print(written);
  const notes = yield* notesOf(part, found, bits);
  return {
    title: options.title ?? expression,
    expression,
    shape: extentsOf(part.shape).map(Number),
    rows: part.rows.map(Number),
    columns: part.columns.map(Number),
    window: part.window,
    copies: found.copies,
    axes: found.axes,
    places: found.places,
    colour: colourOf(layout, found.axes),
    panels,
    dtype: element?.name ?? null,
    bits,
    base,
    access: asked?.name ?? null,
    steps: asked ? counted(asked.steps, part.shape, written.order) : copySteps(found.copies),
    notes: [...notes, ...hints, ...(asked?.notes ?? [])],
    order: written.order,
  };
}

/** Steps with their elements counted in an order. */
function counted(steps: readonly Step[], shape: Shape, order: Order): readonly Step[] {
  if (order === "row") return steps;
  const extents = extentsOf(shape).map(Number);
  return steps.map((step) => ({ ...step, elements: step.elements.map((flat) => turnedIndex(flat, extents)) }));
}

/** A document of these scenes; of two the words say what has to move from the first to the second. */
export function* documentWork(scenes: readonly Scene[], title = scenes[0]?.title ?? ""): Work<Document> {
  const [first, second] = scenes;
  const words = first && second ? yield* difference(first, second) : "";
  return { schema: SCHEMA, kind: "tilewise.scene", title, words, scenes };
}

/** A document as JSON, its places as lists. */
export function jsonOf(document: Document): string {
  return JSON.stringify(document, (_, value: unknown) => (value instanceof Float64Array ? [...value] : value));
}

function checkBase(base: number): void {
  if (Number.isInteger(base) && base >= 0 && base < FAR) return;
  throw new LayoutError("TW301", `a base of ${base} bytes`, "pictures begin at 0 and end at 2^44");
}

/** Packing, then broadcast: what is there when every element has been written once, and then. */
function copySteps(copies: number): Step[] {
  if (copies === 1) return [];
  const step = { elements: [], lanes: [], cost: null, encoded: null };
  return [
    { ...step, title: "the shard", copies: 1, note: "one copy of every element" },
    { ...step, title: "the replicas", copies, note: `all ${copies} copies of every element` },
  ];
}
