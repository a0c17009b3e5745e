/**
 * The notation, read by recursive descent; the grammar is in docs/notation.md.
 *
 *     sum      =  part { ("+" | "-") part }
 *     part     =  chain | "R" "[" tuple ":" tuple "]" | "O" "[" vector { "," vector } "]" | vector
 *     chain    =  { swizzle "o" | "O" "[" ... "]" "o" } ( "S" "[" tuple [ ":" tuple ] "]" | "(" sum ")" )
 *     swizzle  =  "Swizzle" "<" B "," M "," S ">" [ "@" axis ]  |  "SWIZZLE_128B" [ "(" dtype ")" ]
 */

import { axisOf } from "../core/axes";
import { dtypeOf, type DType } from "../core/dtypes";
import type { LayoutError, Span } from "../core/errors";
import { Layout, type Iter } from "../core/layout";
import { leavesOf, shapeOf } from "../core/shapes";
import { NAMED_BITS, scaledSwizzle, spelledSwizzle, swizzleOf, type Swizzle } from "../core/swizzles";
import { negated, termsOf, vectorOf, ZERO, type Term, type Vector } from "../core/vectors";
import { unknownWord } from "./guesses";
import { quoted, shortened, spanOf, type Cursor, type Token } from "./tokens";
import {
  axisName,
  congruent,
  integer,
  OPERATORS,
  opensRounded,
  product,
  shapeOfTree,
  term,
  total,
  tree,
  vector,
  type Names,
  type Tree,
} from "./trees";

/** A layout, copies, or an offset. */
type Part = Layout | { copies: readonly Iter[] } | { offset: Vector };

const COMPOSE = ["o", "∘", "@"];
const PAIRS = { S: "S[(8, 4) : (4, 1)]", R: "R[(8, 4) : (4, 1)]" };
const EXAMPLES = {
  S: "S[8 : 1] has a stride, S[8] the row-major one, and S[()] is a single element",
  R: "copies are written R[2 : 4@warpid]",
};

/** One text in the notation. */
export class Parser {
  constructor(
    readonly cursor: Cursor,
    readonly names: Names,
    readonly dtype: DType | null,
  ) {}

  /** The whole text as a layout. */
  layout(): Layout {
    const start = this.cursor.next;
    if (start.kind === "end") {
      throw this.cursor.error("TW001", "there is no text", "a layout looks like S[(8, 4) : (4, 1)]");
    }
    const value = this.#sum();
    this.cursor.expectEnd("the layout");
    if (value instanceof Layout) return value;
    throw this.#noShard(start);
  }

  /** Parts joined by + and -, of which one is a layout; or copies or an offset alone. */
  #sum(): Part {
    const { cursor } = this;
    const start = cursor.next;
    const copies: Iter[] = [];
    let layout: Layout | null = null;
    let before: Term[] = [];
    let terms: Term[] = [];
    let sign: Token | null = null;
    do {
      const first = cursor.next;
      const part = this.#part();
      if (part instanceof Layout) {
        layout = this.#only(layout, part, first, sign);
        [before, terms] = [terms, []];
      } else if ("copies" in part) {
        if (sign?.text === "-") {
          throw cursor.error("TW004", "copies cannot be taken away", "", cursor.since(sign));
        }
        copies.push(...part.copies);
      } else terms.push(...termsOf(sign?.text === "-" ? negated(part.offset) : part.offset));
      sign = cursor.accept("+", "-");
    } while (sign);
    if (!layout) {
      if (copies.length && terms.length) throw this.#noShard(start);
      return copies.length ? { copies } : { offset: total(cursor, terms, start) };
    }
    const found = layout;
    return cursor.blame(start, () => {
      const offset = total(cursor, [...before, ...termsOf(found.offset), ...terms], start);
      return found.with({ replica: [...found.replica, ...copies], offset });
    });
  }

  #noShard(start: Token): LayoutError {
    const hint = "a layout has a shard; a single element is S[()]";
    return this.cursor.error("TW001", "there is no S[...] here", hint, this.cursor.since(start));
  }

  #only(before: Layout | null, part: Layout, first: Token, sign: Token | null): Layout {
    const span = this.cursor.since(first);
    if (sign?.text === "-") throw this.cursor.error("TW107", "a layout cannot be subtracted", "", span);
    if (!before) return part;
    const hint = "join the modes of both in one S[...]";
    throw this.cursor.error("TW107", "a second layout in one sum", hint, span);
  }

  /** One addend. */
  #part(): Part {
    const { cursor } = this;
    const token = cursor.next;
    const isBracketed = cursor.ahead(1).text === "[";
    if (token.text === "R" && isBracketed) return { copies: this.#replicas() };
    if (token.text === "O" && isBracketed) {
      const offset = this.#offset();
      return cursor.accept(...COMPOSE) ? this.#composed(offset, token) : { offset };
    }
    if (token.text === "(") return this.#parenthesised();
    if (this.#opensLayout(token)) return this.#chain();
    if (token.kind === "end") {
      throw cursor.error("TW004", "expected a layout, copies or an offset, found the end");
    }
    if (token.kind === "name" && !this.names.values.has(token.text) && !opensRounded(cursor)) {
      const error = unknownWord(cursor);
      if (error) throw error;
    }
    return { offset: term(cursor, this.names) };
  }

  #opensLayout(token: Token): boolean {
    const after = this.cursor.ahead(1).text;
    return (
      (token.text === "S" && after === "[") ||
      (token.text === "Swizzle" && (after === "<" || after === "(")) ||
      NAMED_BITS.has(token.text)
    );
  }

  /** `S[...]`, or a swizzle before a layout. */
  #chain(): Layout {
    const { cursor } = this;
    const start = cursor.next;
    if (start.text === "S") return this.#shard();
    const swizzle = this.#swizzle();
    const spelled = spelledSwizzle(swizzle);
    if (!cursor.accept(...COMPOSE)) {
      const reason = `expected 'o' and a layout after ${spelled}, found ${quoted(cursor.next)}`;
      throw cursor.error("TW004", reason, `write ${spelled} o S[...]`);
    }
    if (NAMED_BITS.has(start.text) && this.#goesOnInCute()) {
      const reason = `${start.text} is no word of CuTe's dialect, in which the layout is written`;
      const hint = `write its numbers, ${spelled} o ..., or the layout as S[...]`;
      throw cursor.error("TW008", reason, hint, spanOf(start));
    }
    const inner = this.#operand(spelled);
    return cursor.blame(start, () => inner.swizzled([swizzle]));
  }

  /** Whether what follows is shape:stride: no bracket of this notation is anywhere, and a colon is. */
  #goesOnInCute(): boolean {
    const texts = new Set(this.cursor.tokens.map((token) => token.text));
    return texts.has(":") && !texts.has("[");
  }

  /** What follows `O[...] o`. */
  #composed(outer: Vector, start: Token): Layout {
    const inner = this.#operand("O[...]");
    return this.cursor.blame(start, () => inner.swizzled([], outer));
  }

  #operand(before: string): Layout {
    const { cursor } = this;
    const first = cursor.next;
    if (first.kind === "end") {
      throw cursor.error("TW004", `expected a layout after ${before} o, found the end`);
    }
    const part = this.cursor.deeper("compositions", first, () => this.#part());
    if (part instanceof Layout) return part;
    throw cursor.error("TW004", `expected a layout after ${before} o`, "", cursor.since(first));
  }

  /** `( sum )`, or a term that begins with a number in parentheses. */
  #parenthesised(): Part {
    const { cursor } = this;
    const first = cursor.at;
    const opened = cursor.take();
    const value = cursor.deeper("parentheses", opened, () => this.#sum());
    cursor.expect(")", opened);
    if (!("offset" in value) || value instanceof Layout) return value;
    if (!OPERATORS.slice(0, 3).includes(cursor.next.text)) return value;
    cursor.at = first;
    return { offset: term(cursor, this.names) };
  }

  // -- S, R, O, Swizzle ----------------------------------------------------------------------------

  /** `S[shape : strides]` or `S[shape]`. */
  #shard(): Layout {
    const { cursor, names } = this;
    const start = cursor.next;
    const [shape, strides] = this.#bracketed("S");
    const modes = shapeOfTree(cursor, shape);
    return cursor.blame(start, () => {
      const given = strides ? congruent(cursor, shape, strides, "S") : rowMajor(leavesOf(shapeOf(modes)));
      return new Layout({ shape: modes, strides: given, storage: names.storage });
    });
  }

  /** `R[shape : strides]`. */
  #replicas(): Iter[] {
    const { cursor } = this;
    const start = cursor.next;
    const [shape, strides] = this.#bracketed("R");
    const modes = shapeOfTree(cursor, shape);
    if (!strides) {
      const reason = "R needs strides: where would the copies go?";
      throw cursor.error("TW003", reason, EXAMPLES.R, cursor.since(start));
    }
    return cursor.blame(start, () => {
      const extents = leavesOf(shapeOf(modes));
      return congruent(cursor, shape, strides, "R").map((stride, i) => ({ extent: extents[i]!, stride }));
    });
  }

  #bracketed(letter: "S" | "R"): [Tree<bigint>, Tree<Vector> | null] {
    const { cursor } = this;
    cursor.take();
    const opened = cursor.expect("[");
    if (cursor.next.text === "]" || cursor.next.text === ":") {
      throw cursor.error("TW004", `${letter}[ needs a shape`, EXAMPLES[letter]);
    }
    const shape = this.#shape(letter);
    const strides = cursor.accept(":") ? this.#strides(letter) : null;
    if (cursor.next.text === ":") {
      throw cursor.error("TW004", "a second ':'", `${letter}[shape : strides] has one colon`);
    }
    cursor.expect("]", opened);
    return [shape, strides];
  }

  #strides(letter: "S" | "R"): Tree<Vector> {
    const { cursor } = this;
    if (cursor.next.text === "]") {
      throw cursor.error("TW004", `expected strides, found ${quoted(cursor.next)}`, EXAMPLES[letter]);
    }
    const strides = tree(cursor, () => vector(cursor, this.names));
    if (cursor.next.text === ",") {
      const hint = `put both sides in parentheses: ${PAIRS[letter]}`;
      throw cursor.error("TW003", "several strides without parentheses", hint);
    }
    return strides;
  }

  /** A tree, or trees with commas between them and no parentheses around, as in `S[8, 4]`. */
  #shape(letter: "S" | "R"): Tree<bigint> {
    const { cursor } = this;
    const start = cursor.next;
    const entry = () => tree(cursor, () => integer(cursor, this.names));
    const first = entry();
    if (!cursor.accept(",")) return first;
    const parts = [first];
    while (cursor.next.text !== "]" && cursor.next.text !== ":") {
      parts.push(entry());
      if (!cursor.accept(",")) break;
    }
    const span = cursor.since(start);
    if (cursor.next.text === ":") throw this.#unparenthesised(letter, span);
    return { parts, span };
  }

  #unparenthesised(letter: "S" | "R", span: Span): LayoutError {
    const { text, tokens, at } = this.cursor;
    const [colon, ...rest] = tokens.slice(at);
    const closing = rest.find((token) => token.text === "]") ?? rest[rest.length - 1]!;
    const shape = shortened(text.slice(...span));
    const strides = shortened(text.slice(colon!.end, closing.start).trim());
    const reason = `${letter}[${shape} : ${strides}] is several things to Python, not a shape and its strides`;
    const within = hasOuterComma(strides) ? `(${strides})` : strides || "(4, 1)";
    const hint = `put both sides in parentheses: ${letter}[(${shape}) : ${within}]`;
    return this.cursor.error("TW003", reason, hint, span);
  }

  /** `O[5@m]`, also `O[5@m, 1@laneid]`. */
  #offset(): Vector {
    const { cursor } = this;
    const start = cursor.take();
    const opened = cursor.expect("[");
    const terms: Term[] = [];
    do terms.push(...termsOf(vector(cursor, this.names).value));
    while (cursor.accept(","));
    cursor.expect("]", opened);
    return total(cursor, terms, start);
  }

  /** `Swizzle<B,M,S>`, `Swizzle(B, M, S)`, or a mode of the hardware by name. */
  #swizzle(): Swizzle {
    const start = this.cursor.take();
    return this.cursor.blame(start, () => (NAMED_BITS.has(start.text) ? this.#mode(start) : this.#numbers()));
  }

  #numbers(): Swizzle {
    const { cursor, names } = this;
    const opened = cursor.take();
    const closing = opened.text === "<" ? ">" : ")";
    const hint = "a swizzle has three numbers: bits, base, shift";
    const number = (): bigint => {
      cursor.expect(",", opened, hint);
      return product(cursor, names);
    };
    const bits = product(cursor, names);
    const [base, shift] = [number(), number()];
    let axis = "";
    if (closing === ")" && cursor.accept(",")) {
      cursor.expect("axis", null, "name the axis with axis=");
      cursor.expect("=");
      axis = axisName(cursor, names);
    }
    cursor.expect(closing, opened, hint);
    return swizzleOf(bits, base, shift, axisOf(axis || this.#axisTag(), names.storage));
  }

  /** `@buf` right after a swizzle, unless the `@` is Python's composition; m where there is none. */
  #axisTag(): string {
    const { cursor } = this;
    const [word, after] = [cursor.ahead(1), cursor.ahead(2)];
    const isLayout = NAMED_BITS.has(word.text) || ["[", "<", "(", "."].includes(after.text);
    if (cursor.next.text !== "@" || word.kind !== "name" || isLayout) return "m";
    cursor.take();
    return axisName(cursor, this.names);
  }

  /** `SWIZZLE_128B(bf16)`: a pattern of bytes, counted in elements. */
  #mode(start: Token): Swizzle {
    const { cursor } = this;
    let { dtype } = this;
    const opened = cursor.accept("(", "[");
    if (opened) {
      const word = cursor.take();
      dtype = cursor.blame(word, () => dtypeOf(word.text));
      cursor.expect(opened.text === "(" ? ")" : "]", opened);
    }
    const axis = axisOf(this.#axisTag(), this.names.storage);
    const inBytes = swizzleOf(BigInt(NAMED_BITS.get(start.text) ?? 0), 4n, 3n, axis);
    if (!inBytes.bits) return inBytes;
    if (dtype) return scaledSwizzle(inBytes, 8, dtype.bits);
    const reason = `${start.text} is a pattern of bytes, and strides count elements here`;
    const hint = `say of which type: ${start.text}(bf16) o ..., or --dtype bf16, or --unit byte`;
    throw cursor.error("TW106", reason, hint, spanOf(start));
  }
}

/** The strides of a dense row-major buffer on m. */
function rowMajor(extents: readonly bigint[]): Vector[] {
  let step = 1n;
  return extents.reduceRight<Vector[]>((strides, extent) => {
    strides.unshift(step ? vectorOf([["m", step]]) : ZERO);
    step *= extent;
    return strides;
  }, []);
}

/** Whether a comma stands outside all parentheses. */
function hasOuterComma(text: string): boolean {
  const before = [...text.matchAll(/,/g)].map(({ index }) => text.slice(0, index));
  return before.some((part) => part.split("(").length === part.split(")").length);
}
