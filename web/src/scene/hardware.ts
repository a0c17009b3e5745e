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

/** Nothing of it: layouts, and what lanes ask for, are read all the same. */
const NOTHING: Hardware = {
  resolve: plain,
  suggestions: () => [],
  asked: () => null,
  pattern: () => null,
};

let own = NOTHING;

/** From now on the page knows this. */
export function install(hardware: Hardware): void {
  own = hardware;
}

/** What the page knows. */
export function hardware(): Hardware {
  return own;
}

/** A text without a call. */
function plain(text: string): Resolved {
  const [, lead = "", name = ""] = /^(\s*)([a-z]\w*\.[\w.]*)/.exec(text) ?? [];
  if (!name) return { text, dtype: null, spanOf: ([from, to]) => [from, to] };
  const hint = "write the layout out: S[...]; the explorer's hardware.js reads calls";
  throw new LayoutError("TW601", `this page has no catalogue, and ${name} is of it`, hint, [lead.length, lead.length + name.length], text);
}
