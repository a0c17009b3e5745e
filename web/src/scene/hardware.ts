/** What a page knows of the hardware beyond lanes and banks; `hardware.js` brings it, where a host loads that. */

import { LayoutError, type DType, type Layout } from "../core";
import type { Asked } from "./asked";
import type { Pattern } from "./patterns";
import type { Stored } from "./stored";

/** A text in which a call is replaced by its layout; `spanOf` finds a place of it in what was typed. */
export interface Resolved {
  text: string;
  dtype: string | null;
  spanOf(span: readonly [number, number]): [number, number];
}

/** What may be typed, and what it is. */
export interface Suggestion {
  text: string;
  words: string;
}

/** Calls of the catalogue, and accesses of engines. */
export interface Hardware {
  /** The text with the call at its beginning replaced; a call that the table does not have is a LayoutError. */
  resolve(text: string): Resolved;
  /** Calls that begin as the text does, or whose words do. */
  suggestions(text: string): Suggestion[];
  /** What an engine asks for, such as descriptor.A; null where it is lanes that ask. */
  asked(layout: Layout, name: string, dtype: DType, base: number): Asked | null;
  /** What lanes ask for with an engine in mind; null where that is none. */
  pattern(name: string, stored: Stored): Pattern | null;
}

/** A text that is right as far as it goes, with what it may go on to. */
export class Unfinished extends LayoutError {
  constructor(ways: readonly string[]) {
    super("TW601", `go on: ${ways.join(", ")}`);
  }
}

/** A call at the beginning of a text, whether it is all there or not. */
const CALL = /^(\s*)([a-z]\w*(?:\.\w*)*)\s*(?:\(|$)/i;
/** Words that begin a layout. */
const OF_LAYOUTS = /^([RO]|S([wW]\w*)?)$/;
/** What lanes ask for without an engine; matrices are rows of the tile, and calls of that name are not. */
const OF_LANES = ["row", "col", "ldmatrix", "stmatrix"];
const ENGINES = /@\s*(laneid|tid_in_wg|tx)\b|^\s*\w+matrix\s*[:(]/;

/** Nothing of it: layouts, and what lanes ask for, are read all the same. */
class Nothing implements Hardware {
  /** Why there is nothing, and what to do; `isOf` finds the name that it is said of. */
  constructor(
    readonly code: string,
    readonly why: string,
    readonly hint: string,
    readonly isOf: (text: string) => string,
  ) {}

  resolve(text: string): Resolved {
    const name = this.isOf(text);
    if (!name) return { text, dtype: null, spanOf: ([from, to]) => [from, to] };
    const at = text.indexOf(name);
    throw new LayoutError(this.code, `${this.why} ${name} may be of it`, this.hint, [at, at + name.length], text);
  }

  suggestions(): Suggestion[] {
    return [];
  }

  asked(_: Layout, name: string): null {
    if (asksEngine(name)) throw new LayoutError(this.code, `${this.why} '${name}' may be of it`, this.hint);
    return null;
  }

  pattern(): null {
    return null;
  }
}

let own: Hardware = new Nothing(
  "TW601",
  "this page has no catalogue, and",
  "write the layout out: S[...]; the explorer's hardware.js reads calls",
  (text) => /^\s*([a-z]\w*\.[\w.]*)/.exec(text)?.[1] ?? "",
);

/** From now on the page knows this. */
export function install(hardware: Hardware): void {
  own = hardware;
}

/** What the page knows. */
export function hardware(): Hardware {
  return own;
}

/** Whether `hardware.js`, or another that knows as much, has told of itself. */
export function isInstalled(): boolean {
  return !(own instanceof Nothing);
}

/** From now on the page says that the rest could not be had, until it is installed after all. */
export function miss(): void {
  const hint = "is tilewise explore still running? what you type next asks for it again";
  own = new Nothing("TW402", "hardware.js could not be loaded, and", hint, callOf);
}

/** Whether only the hardware can read a layout's text, or an access; half a word that may become a call, too. */
export function needsHardware(texts: readonly string[], access: string): boolean {
  return texts.some(callOf) || asksEngine(access);
}

/** The name of the call that a text begins with; a word of the notation is none. */
function callOf(text: string): string {
  const name = CALL.exec(text)?.[2] ?? "";
  return OF_LAYOUTS.test(name) ? "" : name;
}

/** Whether an access is an engine's, or may become one. */
function asksEngine(access: string): boolean {
  const [word] = /^[a-z]\w*/i.exec(access.trim()) ?? [];
  if (ENGINES.test(access)) return true;
  return word !== undefined && !OF_LAYOUTS.test(word) && !OF_LANES.some((plain) => plain.startsWith(word));
}
