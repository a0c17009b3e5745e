/** Spaces of expressions: none in links, the notation's own in the field. */

const TOKEN = /[\p{L}\p{N}_.]+|\S/gu;
const WORD = /^[\p{L}\p{N}_.]/u;
const CLOSING = /^[)\]>]$/;
const OWN_DIALECT = /\b[SRO]\s*\[|^\s*[a-z][\w.]*\s*\(/;

/** The text without the spaces that say nothing. */
export function tight(text: string): string {
  const tokens = tokensOf(text);
  return tokens.map((token, at) => (WORD.test(token) && WORD.test(tokens[at - 1] ?? "") ? ` ${token}` : token)).join("");
}

/** The text with the spaces that its dialect has when it is printed. */
export function spaced(text: string): string {
  const tokens = tokensOf(text);
  const loose = OWN_DIALECT.test(text);
  let line = "";
  let angles = 0;
  tokens.forEach((token, at) => {
    const before = tokens[at - 1];
    if (token === ">") angles -= 1;
    if (before !== undefined && spaceBetween(tokens, at, loose && angles <= 0)) line += " ";
    line += token;
    if (token === "<") angles += 1;
  });
  return line;
}

function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

function spaceBetween(tokens: readonly string[], at: number, loose: boolean): boolean {
  const before = tokens[at - 1] ?? "";
  const after = tokens[at] ?? "";
  if (WORD.test(before) && WORD.test(after)) return true;
  if (isOperator(tokens, at - 1) || isOperator(tokens, at)) return true;
  if (CLOSING.test(before) && WORD.test(after)) return true;
  if (!loose) return false;
  return before === ":" || after === ":" || (before === "," && !CLOSING.test(after));
}

/** Whether the token stands between two operands: `o`, and a sign after an operand. */
function isOperator(tokens: readonly string[], at: number): boolean {
  const token = tokens[at] ?? "";
  if (token === "o" || token === "∘") return at > 0;
  const before = tokens[at - 1] ?? "";
  return /^[+-]$/.test(token) && (CLOSING.test(before) || WORD.test(before));
}
