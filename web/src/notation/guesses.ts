/** What was probably meant by a word that the notation does not know. */

import type { LayoutError, Span } from "../core/errors";
import { NAMED_BITS } from "../core/swizzles";
import { closest } from "../core/words";
import { shortened, type Cursor, type Token } from "./tokens";

const LETTERS = ["S", "R", "O"];
const CUTE = "write a layout of CuTe as it prints itself: (8,4):(4,1)";
const ORDER = "write Swizzle<B,M,S> o S[...]; TIRx's own order is (M, B, S)";
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["TileLayout", "drop the wrapper: S[...] + R[...], with 4@laneid for an axis"],
  ["ComposeLayout", ORDER],
  ["SwizzleLayout", ORDER],
  ["Layout", CUTE],
  ["make_layout", CUTE],
]);

/** The names ahead that dots join. */
function dotted(cursor: Cursor): Token[] {
  const words = [cursor.next];
  while (cursor.ahead(2 * words.length - 1).text === "." && cursor.ahead(2 * words.length).kind === "name") {
    words.push(cursor.ahead(2 * words.length));
  }
  return words;
}

/** Why the next word cannot begin an addend, or null where it may be the name of a number. */
export function unknownWord(cursor: Cursor): LayoutError | null {
  const words = dotted(cursor);
  const last = words[words.length - 1]!;
  const after = cursor.ahead(2 * words.length - 1);
  const span: Span = [words[0]!.start, last.end];
  const spelled = shortened(cursor.text.slice(...span));
  const unknown = (what: string, hint: string) => cursor.error("TW002", `'${what}' is not known`, hint, span);

  const elsewhere = ELSEWHERE.get(last.text);
  if (elsewhere) return unknown(spelled, elsewhere);
  if (words.length > 1 && LETTERS.includes(last.text)) {
    return unknown(spelled, "drop the prefixes: S[...], R[...], 4@laneid");
  }
  if (LETTERS.includes(spelled)) {
    return cursor.error("TW004", `${spelled} takes square brackets`, `write ${spelled}[...]`, span);
  }
  if (spelled.toUpperCase().startsWith("SWIZ")) return unknownSwizzle(cursor, spelled, span);
  if (after.text === "[") {
    const near = LETTERS.includes(spelled.toUpperCase()) ? spelled.toUpperCase() : "S";
    return unknown(`${spelled}[`, `did you mean ${near}[?`);
  }
  if (after.text === "<") return unknown(`${spelled}<`, "did you mean Swizzle<B,M,S>?");
  if (words.length > 1 || after.text === "(") {
    const hint = "tilewise.parse knows the catalogue; or write the layout out: S[...]";
    return cursor.error("TW001", `'${spelled}' is no layout here`, hint, span);
  }
  if (after.text === "=") {
    return cursor.error("TW004", "a layout is given no name here", "write what follows the '='", span);
  }
  if (cursor.at === 0 && (after.kind === "end" || after.kind === "name")) {
    return cursor.error("TW001", `'${spelled}' is no layout`, "a layout looks like S[(8, 4) : (4, 1)]", span);
  }
  return null;
}

function unknownSwizzle(cursor: Cursor, spelled: string, span: Span): LayoutError {
  if (spelled === "Swizzle") {
    return cursor.error("TW002", "Swizzle has three numbers", "write Swizzle<B,M,S> o S[...]", span);
  }
  const modes = [...NAMED_BITS.keys()].map((mode): [string, string] => [mode, mode]);
  const known = new Map([["SWIZZLE", "Swizzle<B,M,S>"], ...modes]);
  const near = closest(spelled.toUpperCase(), known.keys(), 0.75);
  const hint = near ? `did you mean ${known.get(near)}?` : `swizzles are ${[...known.values()].join(", ")}`;
  return cursor.error("TW002", `'${spelled}' is not known`, hint, span);
}
