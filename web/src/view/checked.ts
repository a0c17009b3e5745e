/** Documents come from anywhere: their sizes are known to be bearable before anything is allocated. */

import { MOST_CELLS, MOST_PARTS } from "../scene/logical";
import type { Document, Encoded, Panel, Scene } from "../scene/types";

/** The limits of `tilewise.pictures.scene.read`: panels, axes and notes; slots, and the cells of an element. */
const MOST_SCENES = 4;
const MOST_PANELS = 32;
const MOST_STEPS = 4096;
const MOST_SLOTS = 32;
const MOST_BITS = 128;

/** Why a value cannot be drawn as a document, in a sentence; null where it can. */
export function objection(value: unknown): string | null {
  try {
    return objectionToDocument(value);
  } catch {
    return lacking("parts"); // one of them is nothing, where something with parts of its own belongs
  }
}

function objectionToDocument(value: unknown): string | null {
  const document = value as Partial<Document> | null | undefined;
  if (document?.kind !== "tilewise.scene") return "This is no tilewise scene.";
  if (document.schema !== 1) return "This scene is of another version of tilewise.";
  const { scenes } = document;
  if (!Array.isArray(scenes) || !scenes.length) return lacking("scenes");
  if (scenes.length > MOST_SCENES) return tooMany("scenes", scenes.length, MOST_SCENES);
  return first(scenes as Scene[], objectionToScene);
}

function objectionToScene(scene: Scene): string | null {
  const { shape, rows, columns, axes, panels, steps, notes } = scene ?? {};
  const lists = [shape, rows, columns, axes, panels, steps, notes];
  if (!lists.every(Array.isArray) || !scene.colour?.rule || !scene.places) return lacking("parts");
  if (![...shape, ...rows, ...columns, scene.copies].every(isCount)) return lacking("a shape");
  const [[top, bottom] = [], [left, right] = []] = scene.window ?? [];
  if (![bottom! - top!, right! - left!, top! + 1, left! + 1].every(isCount)) return lacking("a window");
  const places = axes.map(({ name }) => Object.hasOwn(scene.places, name) && scene.places[name]);
  if (!places.every((list) => Array.isArray(list) || ArrayBuffer.isView(list))) return lacking("places");
  const sizes = new Set((places as ArrayLike<number>[]).map((list) => list.length));
  const [size = scene.copies] = sizes;
  const elements = size / scene.copies;
  if (sizes.size > 1 || !Number.isInteger(elements) || elements > (bottom! - top!) * (right! - left!)) {
    return lacking("as many places as elements");
  }
  if (size > MOST_CELLS) return tooMany("places", size, MOST_CELLS);
  const most = Math.max(panels.length, axes.length, notes.length);
  if (most > MOST_PANELS) return tooMany("panels, axes or notes", most, MOST_PANELS);
  if (steps.length > MOST_STEPS) return tooMany("steps", steps.length, MOST_STEPS);
  const whole = steps.every((step) => Array.isArray(step?.elements) && Array.isArray(step.lanes));
  if (!whole) return lacking("elements of a step");
  if (!steps.every(({ encoded }) => !encoded || isWord(encoded))) return lacking("fields of a word");
  return first(panels, objectionToPanel);
}

/** Whether a word has fields, the lowest first, inside its width. */
function isWord({ width, fields }: Encoded): boolean {
  let below = -1;
  return (
    isCount(width) &&
    width <= MOST_BITS &&
    Array.isArray(fields) &&
    fields.every(({ low, high, held }) => {
      const after = low > below && high >= low && high < width && [low, high, held].every(Number.isSafeInteger);
      below = high;
      return after && held >= 0 && held < 2 ** (high - low + 1);
    })
  );
}

function objectionToPanel(panel: Panel): string | null {
  const { blocks, cells, slots, width } = panel ?? {};
  const extents = [blocks?.[0], blocks?.[1], cells?.[0], cells?.[1], slots, width];
  if (!extents.every(isCount)) return lacking("the size of a panel");
  const count = blocks[0] * blocks[1] * cells[0] * cells[1];
  const most = Math.max(slots, width);
  if (most > MOST_SLOTS) return tooMany("slots in a cell", most, MOST_SLOTS);
  if (count > MOST_CELLS) return tooMany("cells", count, MOST_CELLS);
  if (count * slots > MOST_PARTS) return tooMany("slots of cells", count * slots, MOST_PARTS);
  const rules = [panel.row, panel.column, panel.block_row, panel.block_column, panel.slot];
  const heads = [panel.row_heads, panel.column_heads, panel.block_row_heads, panel.block_column_heads];
  return [...rules, ...heads].every(Array.isArray) ? null : lacking("rules or heads of a panel");
}

function first<T>(values: readonly T[], object: (value: T) => string | null): string | null {
  for (const value of values) {
    const found = object(value);
    if (found) return found;
  }
  return null;
}

function lacking(what: string): string {
  return `The document lacks ${what}.`;
}

function tooMany(what: string, count: number, most: number): string {
  return `The document has ${count} ${what}; ${most} are drawn at most.`;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
