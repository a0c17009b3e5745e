/** From what is asked to what is drawn, or to what is wrong and where. */

import { dtypeOf, LayoutError, type Layout, type Shape } from "../core";
import { read } from "../notation";
import { documentWork, sceneWork, type Options } from "../scene/build";
import { hardware, Unfinished } from "../scene/hardware";
import type { Work } from "../scene/pieces";
import type { Document, Scene } from "../scene/types";
import type { Control } from "./controls";
import { canConvert, commandFor, converted, looksForeign, type Asked } from "./convert";
import type { Fault } from "./field";
import { hintHere } from "./hints";
import type { State } from "./state";

/** Where on the page something is wrong. */
export type Where = "e" | "e2" | Control;

export interface Sight {
  document: Document;
  layouts: readonly Layout[];
  /** What of the controls could not be had, and was left out. */
  without: Wrong | null;
}

export interface Wrong {
  where: Where;
  fault: Fault;
}

type Window = NonNullable<Options["window"]>;

const RANGE = /^(\d{0,15}):(\d{0,15})$/;
const OF_CONTROLS: readonly (readonly [Control, keyof Options])[] = [
  ["a", "access"],
  ["w", "window"],
  ["s", "shape"],
  ["d", "dtype"],
];

/**
 * What a state shows; what is wrong with it, if anything is.
 *
 * A control that does not fit the layout is left out, and said; but not one that somebody is writing in.
 */
export function* sightOf(state: State, written: Where | null): Work<Sight | Wrong> {
  let left = state;
  let without: Wrong | null = null;
  for (;;) {
    const found = yield* attempt(left);
    if (!("fault" in found)) return { ...found, without };
    const { where } = found;
    if (where === "e" || where === "e2" || where === written) return found;
    without ??= found;
    left = { ...left, [where]: undefined };
  }
}

function* attempt(state: State): Work<Omit<Sight, "without"> | Wrong> {
  let where: Where = "d";
  try {
    const dtype = state.d ? dtypeOf(state.d).name : null;
    where = "s";
    const shape = state.s ? shapeOf(state.s) : null;
    where = "w";
    const window = state.w ? windowOf(state.w) : null;
    const asked = { dtype, shape, window, access: state.a ?? null };
    where = "e";
    const first = yield* seen(question(state, "e"), asked);
    where = "e2";
    const all = state.e2?.trim() ? [first, yield* seen(question(state, "e2"), asked)] : [first];
    const scenes = all.map(({ scene }) => scene);
    return { document: yield* documentWork(scenes, state.e), layouts: all.map(({ layout }) => layout) };
  } catch (error) {
    if (!(error instanceof OfControl)) return { where, fault: faultOf(error) };
    const fault = faultOf(error.fault);
    const whose = state.e2?.trim() ? `the ${where === "e" ? "first" : "second"} layout: ` : "";
    return { where: error.control, fault: { ...fault, message: whose + fault.message } };
  }
}

/** A text with what the controls say of its shape and type, as a question to the server. */
export function question(state: State, where: "e" | "e2"): Asked {
  return { text: state[where] ?? "", shape: state.s ?? "", dtype: state.d ?? "" };
}

/** A layout and its scene; what a control is to blame for is thrown as `OfControl`. */
function* seen(asked: Asked, controls: Options): Work<{ layout: Layout; scene: Scene }> {
  const { text } = asked;
  const { layout, note, ...told } = textRead(asked, controls.dtype);
  const options = { ...controls, ...told, dtype: controls.dtype ?? told.dtype, title: text.trim() };
  try {
    const scene = yield* sceneWork(layout, options);
    return { layout, scene: note ? { ...scene, notes: [...scene.notes, { kind: "fact", text: note }] } : scene };
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    for (const [control, option] of OF_CONTROLS) {
      const guilty = options[option] && (yield* isDrawn(layout, { ...options, [option]: null }));
      if (guilty) throw new OfControl(control, error);
    }
    throw error;
  }
}

/** What a text gives: its layout, its type, a note of the server. A shape that the server took is no question. */
interface Read {
  layout: Layout;
  dtype: string | null;
  note?: string;
  shape?: null;
}

/** Reads a text here, or has what the server made of it. */
function textRead(asked: Asked, dtype: string | null | undefined): Read {
  try {
    const resolved = hardware().resolve(asked.text);
    return { layout: layoutOf(resolved.text, dtype, resolved.spanOf), dtype: resolved.dtype };
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    const found = converted(asked);
    const isForeign = looksForeign(asked.text);
    if (found instanceof LayoutError) throw isForeign ? found : error;
    if (found) {
      const { dtype, note, shaped } = found;
      return { layout: read(found.layout), dtype, note, ...(shaped ? { shape: null } : {}) };
    }
    if (!isForeign) throw error;
    const hint = canConvert(asked.text) ? "reading it" : commandFor(asked.text);
    throw new LayoutError("TW008", "this page cannot read the text itself", hint);
  }
}

function layoutOf(text: string, dtype: string | null | undefined, spanOf: (span: [number, number]) => [number, number]) {
  try {
    return read(text, dtype ? { dtype } : {});
  } catch (error) {
    if (error instanceof LayoutError && error.span) error.span = spanOf(error.span);
    throw error;
  }
}

function* isDrawn(layout: Layout, options: Options): Work<boolean> {
  try {
    yield* sceneWork(layout, options);
    return true;
  } catch {
    return false;
  }
}

class OfControl extends Error {
  constructor(
    readonly control: Control,
    readonly fault: LayoutError,
  ) {
    super(fault.message);
  }
}

/** `8,8` and `(2,4),8` are shapes, as the notation has them. */
function shapeOf(text: string): Shape {
  try {
    return read(`S[(${text})]`).shape;
  } catch (error) {
    const { code, message } = faultOf(error);
    throw new LayoutError(code, message, "a shape is such as 8,8");
  }
}

/** `0:16,0:16` is 16 rows and 16 columns; an end that is left out is the grid's. */
function windowOf(text: string): Window {
  const ranges = text.replace(/\s/g, "").split(",").map((range) => RANGE.exec(range));
  if (ranges.length > 2 || ranges.includes(null)) {
    throw new LayoutError("TW201", `'${text}' is not a window`, "rows and columns are such as 0:16,0:16");
  }
  const ends = ranges.map((range) => [endOf(range?.[1]), endOf(range?.[2])] as const);
  return [ends[0], ends[1]];
}

function endOf(digits: string | undefined): number | null {
  return digits ? Number(digits) : null;
}

function faultOf(error: unknown): Fault {
  if (!(error instanceof LayoutError)) throw error;
  const { code, message, span } = error;
  return { code, message, hint: hintHere(error.hint) || null, span, quiet: error instanceof Unfinished };
}
