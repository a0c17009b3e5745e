/**
 * CuTe's notation, read.
 *
 *     ((8,2),(4,4)):((8,64),(1,4))        Sw<3,4,3> o _0 o (_8,_64):(_64,_1)        (4,8):(1@0,1@1)
 *
 * The layout counts as CuTe does, the leftmost digit fastest. A typed pointer says that the swizzle before it acts
 * on bytes; one after it counts elements, and its address is no part of the layout.
 */

import { axisOf, isKnown } from "../core/axes";
import { Layout } from "../core/layout";
import { modulo } from "../core/integers";
import { scaledSwizzle, swizzleOf, type Swizzle } from "../core/swizzles";
import { vectorOf, type Vector } from "../core/vectors";
import { quoted, spanOf, type Cursor } from "./tokens";
import { congruent, literal, noNumber, opensRounded, rounded, shapeOfTree, sum, tree, valueOf } from "./trees";
import type { Leaf, Names } from "./trees";

const SWIZZLES = ["Sw", "Swizzle", "S"];
const POINTERS = ["smem_ptr", "gmem_ptr", "rmem_ptr", "tmem_ptr", "ptr"];
const ATTACHED = POINTERS.map((pointer) => `_${pointer}`);
const POINTED = "such as smem_ptr[16b](unset) o (8,64):(64,1)";

/** One text in CuTe's dialect. */
export class CuteParser {
  constructor(
    readonly cursor: Cursor,
    readonly names: Names,
  ) {}

  /** The whole text as a layout. */
  layout(): Layout {
    const { cursor } = this;
    const start = cursor.next;
    let swizzles = this.#swizzles();
    let offset = 0n;
    const bits = this.#pointer();
    if (bits) {
      const inBytes = swizzles;
      const counted = cursor.blame(start, () => inBytes.map((swizzle) => scaledSwizzle(swizzle, 8, bits)));
      swizzles = [...counted, ...this.#swizzles()];
    }
    const isSigned = cursor.next.text === "-";
    if (cursor.next.text !== "(" && ["o", "∘"].includes(cursor.ahead(isSigned ? 2 : 1).text)) {
      offset = this.#factor();
      this.#compose();
    }
    const plain = this.#plain();
    const hint = cursor.next.text === "+" ? "copies and offsets are added to S[...]" : "";
    cursor.expectEnd("the layout", hint);
    return cursor.blame(start, () => plain.with({ offset: onM(offset) }).swizzled(swizzles));
  }

  #compose(): void {
    if (this.cursor.accept("o", "∘")) return;
    const hint = "functions are composed with o: Sw<3,4,3> o (8,64):(64,1)";
    throw this.cursor.error("TW004", `expected 'o', found ${quoted(this.cursor.next)}`, hint);
  }

  /** The swizzles that come next. An `o` follows each, unless a pointer is attached to it. */
  #swizzles(): Swizzle[] {
    const { cursor } = this;
    const found: Swizzle[] = [];
    while (SWIZZLES.includes(cursor.next.text) && cursor.ahead(1).text === "<") {
      found.push(this.#swizzle());
      if (!ATTACHED.includes(cursor.next.text)) this.#compose();
    }
    return found;
  }

  /** `Sw<B,M,S>`, `Swizzle<B,M,S>` or `S<B,M,S>`. */
  #swizzle(): Swizzle {
    const { cursor } = this;
    const start = cursor.take();
    const hint = "a swizzle has three numbers: B, M, S";
    return cursor.blame(start, () => {
      const opened = cursor.expect("<");
      const numbers = [this.#factor()];
      while (numbers.length < 3) {
        cursor.expect(",", opened, hint);
        numbers.push(this.#factor());
      }
      cursor.expect(">", opened, hint);
      const [bits = 0n, base = 0n, shift = 0n] = numbers;
      return swizzleOf(bits, base, shift, axisOf("m", this.names.storage));
    });
  }

  /** Bits of an element of `smem_ptr[16b](...) o`, or 0 where there is no pointer. */
  #pointer(): number {
    const { cursor } = this;
    if (![...POINTERS, ...ATTACHED].includes(cursor.next.text)) return 0;
    cursor.take();
    const bracket = cursor.expect("[");
    const bits = this.#width();
    cursor.expect("]", bracket);
    const opened = cursor.expect("(", null, POINTED);
    if (!cursor.accept("unset", "nullptr")) this.#address(bits);
    cursor.expect(")", opened);
    if (cursor.next.kind === "end") {
      throw cursor.error("TW004", "expected 'o' and a layout after the pointer", POINTED);
    }
    this.#compose();
    return bits;
  }

  #address(bits: number): void {
    const at = this.cursor.next;
    if (modulo(this.#factor() * 8n, BigInt(bits)) === 0n) return;
    const hint = "it counts bytes; where it says nothing, write unset";
    throw this.cursor.error("TW106", `the address is no multiple of ${bits} bits`, hint, spanOf(at));
  }

  /** `16b`. */
  #width(): number {
    const token = this.cursor.take();
    const bits = Number.parseInt(token.text, 10);
    if (token.kind === "width" && token.text.length <= 5 && bits > 0) return bits;
    throw this.cursor.error("TW004", "expected the width of an element, such as 16b", "", spanOf(token));
  }

  /** `shape:stride`. */
  #plain(): Layout {
    const { cursor } = this;
    const start = cursor.next;
    if (start.kind === "end") {
      throw cursor.error("TW001", "there is no layout", "a layout of CuTe looks like (8,4):(4,1)");
    }
    const shape = tree(cursor, () => this.#integer(), false);
    if (!cursor.accept(":")) {
      const reason = `expected ':' and the strides, found ${quoted(cursor.next)}`;
      throw cursor.error("TW004", reason, "a layout is (8,4):(4,1), or S[(8, 4) : (4, 1)]");
    }
    const strides = tree(cursor, () => this.#stride(), false);
    if (cursor.next.text === "o" || cursor.next.text === "∘") {
      const hint = "give the result of the composition";
      throw cursor.error("TW008", "two layouts composed are not one layout yet", hint);
    }
    return cursor.blame(start, () => {
      const modes = shapeOfTree(cursor, shape);
      const vectors = congruent(cursor, shape, strides, "the layout");
      return new Layout({ shape: modes, strides: vectors, storage: this.names.storage, order: "cute" });
    });
  }

  /** `8` or `_8`. */
  #integer(): Leaf<bigint> {
    const start = this.cursor.next;
    return { value: this.#number(), span: this.cursor.since(start) };
  }

  /** `8`, `_8`, or a basis stride `1@0`, which is 1 step on axis e0. */
  #stride(): Leaf<Vector> {
    const { cursor } = this;
    const start = cursor.next;
    const steps = this.#number();
    if (!cursor.accept("@")) return { value: onM(steps), span: cursor.since(start) };
    const mode = cursor.next;
    if (mode.kind === "name" && isKnown(mode.text)) {
      const hint = `write S[...] with strides on @${mode.text}`;
      throw cursor.error("TW008", "CuTe has no named axes", hint, spanOf(mode));
    }
    const axis = axisOf(`e${this.#factor()}`, this.names.storage);
    if (cursor.next.text === "@") {
      const hint = "flatten the coordinates, so that every basis stride names one mode";
      const reason = "a basis inside a basis has no axis here";
      throw cursor.error("TW008", reason, hint, [mode.start, cursor.ahead(1).end]);
    }
    return { value: vectorOf([[axis.name, steps]]), span: cursor.since(start) };
  }

  /** `8`, `_8`, `-8`, or a name with a value; between parentheses a sum of products of them too. */
  #number(): bigint {
    const { cursor, names } = this;
    if (!["(", ","].includes(cursor.behind.text)) return this.#factor();
    return sum(cursor, names, () => this.#factor());
  }

  #factor(): bigint {
    return this.cursor.accept("-") ? -this.#unsigned() : this.#unsigned();
  }

  #unsigned(): bigint {
    const { cursor, names } = this;
    if (opensRounded(cursor)) return rounded(cursor, names, () => this.#factor());
    const token = cursor.take();
    if (token.kind === "number") return literal(cursor, token.text);
    if (token.kind === "name") {
      const [, digits] = /^_([0-9]+)$/.exec(token.text) ?? [];
      return digits ? literal(cursor, digits) : valueOf(cursor, names, token);
    }
    if (token.text === "?") {
      const hint = "write a name and give it a value: --let";
      throw cursor.error("TW007", "a dynamic value is not known here", hint, spanOf(token));
    }
    throw noNumber(cursor, token);
  }
}

function onM(steps: bigint): Vector {
  return vectorOf(steps ? [["m", steps]] : []);
}

/** Whether a text is in CuTe's dialect: it has no `S[`, `R[` or `O[`, and begins as CuTe's do. */
export function looksLikeCute(cursor: Cursor): boolean {
  const { tokens } = cursor;
  const isOwn = tokens.some(({ kind, text }, i) => {
    const after = tokens[i + 1]?.text;
    return (["S", "R", "O"].includes(text) && after === "[") || (kind === "name" && after === ".");
  });
  if (isOwn) return false;
  const first = tokens[0]!;
  if (first.text === "(" || [...POINTERS, ...ATTACHED].includes(first.text)) return true;
  const isSwizzled = SWIZZLES.includes(first.text) && cursor.ahead(1).text === "<";
  const opens = isSwizzled || first.text === "-" || first.kind === "number" || first.text.startsWith("_");
  return opens && tokens.some((token) => token.text === ":");
}
