/** Documents come from anywhere: their sizes are known to be bearable before anything is allocated. */

import type { Document, Panel, Scene } from "../scene/types";

/** Places of all copies in a scene, and cells in a panel: beyond these nothing is drawn. */
export const MOST_PLACES = 1 << 22;
export const MOST_CELLS = 1 << 22;
const MOST_SCENES = 4;
const MOST_PANELS = 16;
const MOST_STEPS = 1 << 16;

/** Why a value cannot be drawn as a document, in a sentence; null where it can. */
export function objection(value: unknown): string | null {
  const document = value as Partial<Document> | null | undefined;
  if (typeof document !== "object" || document === null) return "There is no document to draw.";
  if (document.kind !== "tilewise.scene") return "This is no tilewise scene.";
  if (document.schema !== 1) return "This scene is of another version of tilewise.";
  const scenes = document.scenes;
  if (!Array.isArray(scenes) || scenes.length === 0) return "The document has no scene.";
  if (scenes.length > MOST_SCENES) return `The document has ${scenes.length} scenes; ${MOST_SCENES} are drawn at most.`;
  for (const scene of scenes) {
    const found = objectionToScene(scene as Scene);
    if (found) return found;
  }
  return null;
}

function objectionToScene(scene: Scene): string | null {
  if (typeof scene !== "object" || scene === null) return "A scene is no object.";
  const lists = [scene.shape, scene.rows, scene.columns, scene.axes, scene.panels, scene.steps, scene.notes];
  if (!lists.every(Array.isArray)) return "A scene lacks one of its lists.";
  if (!scene.axes.every((axis) => typeof axis?.name === "string")) return "An axis has no name.";
  if (![...scene.shape, ...scene.rows, ...scene.columns].every(isCount)) return "A shape has an extent that is no number.";
  const window = [scene.window?.[0]?.[0], scene.window?.[0]?.[1], scene.window?.[1]?.[0], scene.window?.[1]?.[1]];
  if (!window.every((end) => Number.isSafeInteger(end) && end! >= 0)) return "The window is no pair of ranges.";
  if (window[0]! >= window[1]! || window[2]! >= window[3]!) return "The window is empty.";
  if (!isCount(scene.copies)) return "The number of copies is no number.";
  if (typeof scene.places !== "object" || scene.places === null) return "A scene has no places.";
  const places = scene.axes.map((axis) => Object.hasOwn(scene.places, axis.name) && scene.places[axis.name]);
  if (!places.every((list) => Array.isArray(list) || ArrayBuffer.isView(list))) return "An axis has no places.";
  const sizes = new Set((places as ArrayLike<number>[]).map((list) => list.length));
  const [size = scene.copies] = sizes;
  if (sizes.size > 1 || size % scene.copies) return "The axes have places of different numbers of elements.";
  if (size > MOST_PLACES) return `A scene has ${size} places; pictures end at ${MOST_PLACES}.`;
  if (size / scene.copies > (window[1]! - window[0]!) * (window[3]! - window[2]!)) return "There are more places than elements.";
  if (!scene.colour?.rule) return "A scene has no colours.";
  if (scene.panels.length > MOST_PANELS) return `A scene has ${scene.panels.length} panels; ${MOST_PANELS} are drawn at most.`;
  if (scene.steps.length > MOST_STEPS) return `A scene has ${scene.steps.length} steps; ${MOST_STEPS} are shown at most.`;
  for (const step of scene.steps) {
    if (!Array.isArray(step?.elements) || !Array.isArray(step.lanes)) return "A step lacks one of its lists.";
  }
  for (const panel of scene.panels) {
    const found = objectionToPanel(panel);
    if (found) return found;
  }
  return null;
}

function objectionToPanel(panel: Panel): string | null {
  const extents = [panel?.blocks?.[0], panel?.blocks?.[1], panel?.cells?.[0], panel?.cells?.[1], panel?.slots, panel?.width];
  if (!extents.every(isCount)) return "A panel has an extent that is no number.";
  if (panel.slots > 256) return "A cell has more than 256 slots.";
  const cells = panel.blocks[0] * panel.blocks[1] * panel.cells[0] * panel.cells[1] * panel.slots;
  if (cells > MOST_CELLS) return `A panel has ${cells} cells; pictures end at ${MOST_CELLS}.`;
  const rules = [panel.row, panel.column, panel.block_row, panel.block_column, panel.slot];
  if (!rules.every(Array.isArray)) return "A panel lacks one of its rules.";
  const heads = [panel.row_heads, panel.column_heads, panel.block_row_heads, panel.block_column_heads];
  return heads.every(Array.isArray) ? null : "A panel lacks one of its heads.";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
