/**
 * Texts of other systems, such as Triton's and XLA's: the page cannot read them, and the server that it came from can.
 *
 * Where `tilewise explore` serves the page, `page.js` gives it a way to ask that server. Nothing here connects by itself.
 */

import { LayoutError, type Span } from "../core/errors";

/** A layout that the page can read, of a text that it cannot. */
export interface Converted {
  layout: string;
  dtype: string | null;
  note: string;
  /** Whether the shape of the controls is the tensor's, as the text has none. */
  shaped: boolean;
}

/** A text to convert, with the shape and the type that the controls say. */
export interface Asked {
  text: string;
  shape: string;
  dtype: string;
}

/** Asks the server that the page came from; the promise is kept with what it answers in JSON. */
export type Ask = (asked: Asked) => Promise<unknown>;

const LONGEST = 20_000;
const MOST_KEPT = 200;
const kept = new Map<string, Converted | LayoutError>();
let server: Ask | null = null;

/** Names the server that converts. */
export function convertBy(ask: Ask): void {
  server = ask;
}

/** What is known of a text already; null where the server has not been asked. */
export function converted(asked: Asked): Converted | LayoutError | null {
  return kept.get(keyOf(asked)) ?? null;
}

/** Whether there is a server that converts, and the text is one to ask it for. */
export function canConvert(text: string): boolean {
  return server !== null && text.trim() !== "" && text.length <= LONGEST;
}

/** Asks the server; `converted` has the answer afterwards. */
export async function convert(asked: Asked): Promise<void> {
  const answer = await server?.(asked);
  if (kept.size >= MOST_KEPT) kept.clear();
  const result = resultOf(answer as Told);
  kept.set(keyOf(asked), result);
  if (!(result instanceof LayoutError) && !result.shaped) kept.set(keyOf({ ...asked, shape: "" }), result);
}

/** The command that converts a text where no server does. */
export function commandFor(text: string): string {
  const quoted = text.trim().replace(/'/g, String.raw`'\''`);
  return `the command that reads it: tilewise explore '${quoted.length > 60 ? "..." : quoted}'`;
}

/** How texts of other systems begin, and the notation's never: a sign, a call, a type, a word of theirs. */
const FOREIGN = [
  /^[#!%@{[]/,
  /^(?:\w|\.|::)+\s*<(?!\s*\d+\s*,\s*\d+\s*,\s*-?\d+\s*>)/,
  /^[\w.:]*(?:Layout|Fragment|Sharding|PartitionSpec|Tensor|make_\w+)\s*\(/,
  /^\(*\w*[sS]hard/,
  /^(?:lambda|Tiled|MMA|Copy|[a-z]\w*\[|\w+\s*=)/,
];

/** Whether a text begins as those of other systems do, and the notation's never. */
export function looksForeign(text: string): boolean {
  return FOREIGN.some((pattern) => pattern.test(text.trimStart()));
}

function keyOf({ text, shape, dtype }: Asked): string {
  return JSON.stringify([text.trim(), shape, dtype]);
}

interface Told {
  layout?: string;
  dtype?: string;
  note?: string;
  shaped?: boolean;
  error?: { code: string; message: string; hint: string; span: Span | null };
}

function resultOf(told: Told): Converted | LayoutError {
  const { layout, dtype, note, shaped, error } = told;
  if (error) return new LayoutError(error.code, error.message, error.hint, error.span);
  return { layout: layout ?? "", dtype: dtype ?? null, note: note ?? "", shaped: shaped ?? false };
}
