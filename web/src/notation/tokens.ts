/** From characters to tokens, each with its span in the text, and a position among them. */

import { LayoutError, type Span } from "../core/errors";
import { MAX_NESTING } from "../core/shapes";

type TokenKind = "number" | "name" | "width" | "sign" | "end";

/** A piece of the text and where it stands. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const MAX_TEXT = 1 << 20;
const MAX_TOKENS = 1 << 16;

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LETTER = "[\\p{L}\\p{N}_]";
const KINDS = ["space", "width", "float", "number", "name", "elision", "sign"] as const;
const TOKEN = new RegExp(
  [
    `(${SPACE}+)`,
    `([0-9]+(?:b(?=${SPACE}*\\])|[BX](?=${SPACE}*[,)])|X(?=\\.${LETTER}))`,
    `(?:(?<=[A-Za-z]\\()|(?<==))[0-9]+x[0-9]+(?:x[0-9]+|b(?:x[0-9]+)?)(?=${SPACE}*[,)])`,
    `(?:(?<=[A-Za-z]\\()|(?<==))[0-9]+[bx](?=${SPACE}*[,)])|[0-9]+[Bb]_[A-Za-z]${LETTER}*(?=${SPACE}*[,)])`,
    `(?<=::)[0-9]+_[0-9]+(?=${SPACE}*[,)]))`,
    "((?:[0-9]+\\.(?!\\.)[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)",
    "(0[xX][0-9a-fA-F]+|[0-9]+)",
    `([\\p{L}\\p{Nl}\\p{No}_]${LETTER}*)`,
    "(\\.\\.\\.|…)",
    "(\\/\\/|[\\][(){}<>:,@+\\-*=.∘?])",
  ].join("|"),
  "uy",
);
const SPACES = new RegExp(`${SPACE}+`, "u");

const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  [";:", "−-", "–-", "—-", "·o", "◦o", "×*", "|:"].map((pair) => [pair.slice(0, 1), pair.slice(1)]),
);
const HINTS: ReadonlyMap<string, string> = new Map([
  ['"', "write numbers and names without quotes; from_json reads documents"],
  ["'", "write numbers and names without quotes"],
  ["#", "the notation has no comments"],
]);
const UNPRINTABLE = /[\p{C}\p{Z}]/u;

/** A token for a sentence. */
export function quoted(token: Token): string {
  return token.kind === "end" ? "the end" : `'${shortened(token.text)}'`;
}

/** A text, or its beginning where it is long. */
export function shortened(text: string): string {
  const characters = text.length > 40 ? [...text] : [];
  return characters.length > 40 ? `${characters.slice(0, 36).join("")}…` : text;
}

/** The text on one line, shortened, with nothing in it that could move the cursor. */
export function onOneLine(text: string): string {
  const words = text.split(SPACES).filter(Boolean).join(" ");
  return shortened(words).replace(/[\p{C}\p{Z}]/gu, (c) => (c === " " ? c : "\ufffd"));
}

/** The tokens of a text, closed by an end. */
export function tokensOf(text: string): Token[] {
  if (text.length > MAX_TEXT) {
    const reason = `a text of ${text.length} characters; at most ${MAX_TEXT} are read`;
    throw new LayoutError("TW005", reason, "", [MAX_TEXT, text.length], text);
  }
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at);
    at = token.end;
    if (token.kind !== "space") tokens.push(token as Token);
    if (tokens.length > MAX_TOKENS) {
      const reason = `a text of more than ${MAX_TOKENS} words, numbers and signs`;
      throw new LayoutError("TW005", reason, "", [token.start, token.end], text);
    }
  }
  return [...tokens, { kind: "end", text: "", start: text.length, end: text.length }];
}

function tokenAt(text: string, at: number): Omit<Token, "kind"> & { kind: TokenKind | "space" } {
  TOKEN.lastIndex = at;
  const match = TOKEN.exec(text);
  if (!match) throw unknownCharacter(text, at);
  const [found, ...groups] = match;
  const kind = KINDS[groups.findIndex((part) => part !== undefined)]!;
  const end = at + found.length;
  if (kind === "elision") {
    const hint = "write out the extents and strides that the dots stand for";
    throw new LayoutError("TW006", "an elided expression has no one meaning", hint, [at, end], text);
  }
  if (kind === "float") {
    const hint = "extents, strides and offsets count whole units; choose a smaller unit";
    throw new LayoutError("TW101", `${shortened(found)} is not an integer`, hint, [at, end], text);
  }
  if (kind === "number") checkSeparated(text, at, end);
  return { kind, text: found, start: at, end };
}

function unknownCharacter(text: string, at: number): LayoutError {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const code = `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const isShown = !UNPRINTABLE.test(character) && !isCombining(character);
  const shown = !isShown ? code : character < "\x80" ? `'${character}'` : `'${character}' (${code})`;
  const hint = isShown ? hintFor(character) : "remove this invisible or combining character";
  const span: Span = [at, at + character.length];
  return new LayoutError("TW002", `the notation has no character ${shown}`, hint, span, text);
}

/** Whether a character has a place in the canonical order of marks, and so changes it with one of the two. */
function isCombining(character: string): boolean {
  const [last, first] = ["\u0345", "\u0334"];
  const isMoved = !(last + character).normalize("NFD").startsWith(last);
  return isMoved || (character + first).normalize("NFD").startsWith(first);
}

function hintFor(character: string): string {
  const plain = LOOKALIKES.get(character) ?? character.normalize("NFKC");
  TOKEN.lastIndex = 0;
  const isRead = plain !== character && TOKEN.test(plain);
  return isRead ? `did you mean '${plain}'?` : (HINTS.get(character) ?? "");
}

/** A number ends where a word begins only with something between. */
function checkSeparated(text: string, at: number, end: number): void {
  const after = String.fromCodePoint(text.codePointAt(end) ?? 0);
  if (!/[\p{L}\p{N}_]/u.test(after)) return;
  let hint = "put an operator between, or @ before an axis";
  if (text.slice(at, end) === "0") hint = "numbers are decimal, or hexadecimal such as 0x40";
  else if (after === "_") hint = "write the digits without '_'";
  else if (/^[xX]\p{Nd}/u.test(text.slice(end, end + 3))) {
    const extents = text.toLowerCase().split("x").map((extent) => extent.trim());
    const isTile = extents.every((extent) => /^\p{Nd}+$/u.test(extent));
    hint = isTile
      ? `a row-major tile of that shape is S[(${extents.join(", ")})]`
      : "separate extents with commas: (8, 4)";
  }
  throw new LayoutError("TW002", `a number runs into '${after}'`, hint, [at, end + after.length], text);
}

/** A position among the tokens of a text; every refusal carries its span. */
export class Cursor {
  readonly tokens: readonly Token[];
  at = 0;
  #depth = 0;

  constructor(readonly text: string) {
    this.tokens = tokensOf(text);
  }

  /** The token ahead. */
  get next(): Token {
    return this.ahead(0);
  }

  /** The token taken last. */
  get behind(): Token {
    return this.tokens[Math.max(this.at - 1, 0)]!;
  }

  /** The token `distance` after the next one. */
  ahead(distance: number): Token {
    return this.tokens[Math.min(this.at + distance, this.tokens.length - 1)]!;
  }

  /** The next token, which is then behind. */
  take(): Token {
    const token = this.next;
    this.at = Math.min(this.at + 1, this.tokens.length - 1);
    return token;
  }

  /** The next token if it is one of `texts`. */
  accept(...texts: string[]): Token | null {
    return this.next.kind !== "end" && texts.includes(this.next.text) ? this.take() : null;
  }

  /** The next token, which must be `text`; `opened` is the bracket that it closes. */
  expect(text: string, opened: Token | null = null, hint = ""): Token {
    const token = this.accept(text);
    if (token) return token;
    if (opened && this.next.kind === "end") {
      const how = ")]>".includes(text) ? `close it with '${text}'` : hint;
      throw this.error("TW004", `'${opened.text}' is never closed`, how, [opened.start, opened.end]);
    }
    throw this.error("TW004", `expected '${text}', found ${quoted(this.next)}`, hint);
  }

  /** Nothing may follow. */
  expectEnd(what: string, hint = ""): void {
    if (this.next.kind !== "end") throw this.error("TW004", `${what} ends before ${quoted(this.next)}`, hint);
  }

  /** A refusal at the span, or at the next token. */
  error(code: string, message: string, hint = "", span: Span = spanOf(this.next)): LayoutError {
    return new LayoutError(code, message, hint, span, this.text);
  }

  /** The span from `start` to the token taken last. */
  since(start: Token): Span {
    return [start.start, Math.max(start.end, this.behind.end)];
  }

  /** What `inside` takes, one level of nesting deeper; too many are refused. */
  deeper<T>(what: string, at: Token, inside: () => T): T {
    if (++this.#depth > MAX_NESTING) {
      throw this.error("TW005", `${what} nested deeper than ${MAX_NESTING}`, "", spanOf(at));
    }
    const taken = inside();
    this.#depth--;
    return taken;
  }

  /** What is refused inside is refused at the text from `start` on. */
  blame<T>(start: Token, inside: () => T): T {
    try {
      return inside();
    } catch (error) {
      if (error instanceof LayoutError && !error.span) {
        error.span = this.since(start);
        error.text = this.text;
      }
      throw error;
    }
  }
}

export function spanOf(token: Token): Span {
  return [token.start, token.end];
}
