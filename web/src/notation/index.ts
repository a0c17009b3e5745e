/** Text to layouts and back, in the notation and in CuTe's. */

import { dtypeOf } from "../core/dtypes";
import type { Layout } from "../core/layout";
import { CuteParser, looksLikeCute } from "./cute";
import { Parser } from "./parser";
import { Cursor } from "./tokens";

export { LayoutError as NotationError } from "../core/errors";
export { print, printCute, pythonText } from "../core/text";

/** What words of a text mean. */
export interface Reading {
  /** Values for names. */
  readonly let?: Readonly<Record<string, bigint>>;
  /** Axes of your own that hold elements. */
  readonly storage?: readonly string[];
  /** The element of modes such as SWIZZLE_128B that name none. */
  readonly dtype?: string;
}

/** Whether a text is read in CuTe's dialect. */
export function isCute(text: string): boolean {
  return looksLikeCute(new Cursor(text));
}

/** The layout that a text spells, in either dialect; `NotationError` says why a text spells none. */
export function read(text: string, options: Reading = {}): Layout {
  const names = { values: new Map(Object.entries(options.let ?? {})), storage: new Set(options.storage) };
  const dtype = options.dtype ? dtypeOf(options.dtype) : null;
  const cursor = new Cursor(text);
  const parser = looksLikeCute(cursor) ? new CuteParser(cursor, names) : new Parser(cursor, names, dtype);
  return cursor.blame(cursor.next, () => parser.layout());
}
