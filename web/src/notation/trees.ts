/** Tuples of numbers and vectors as they are written, with their spans: shapes and strides. */

import { axisOf, isKnown } from "../core/axes";
import { counted, type LayoutError, type Span } from "../core/errors";
import { asInt, floorDivided, MAX_DIGITS } from "../core/integers";
import { MAX_NESTING, type Mode } from "../core/shapes";
import { negated, spelledVector, termsOf, vectorOf, type Term, type Vector } from "../core/vectors";
import { closest } from "../core/words";
import { onOneLine, quoted, shortened, spanOf, type Cursor, type Token } from "./tokens";

/** A number or a vector. */
export interface Leaf<T> {
  readonly value: T;
  readonly span: Span;
}

/** A tuple, by Python's rules: `(8)` is 8, `(8,)` is a tuple. */
interface Branch<T> {
  readonly parts: readonly Tree<T>[];
  readonly span: Span;
}

export type Tree<T> = Leaf<T> | Branch<T>;

/** What words mean in a text: values for names, and axes declared storage. */
export interface Names {
  readonly values: ReadonlyMap<string, bigint>;
  readonly storage: ReadonlySet<string>;
}

/** The signs with which a number goes on. */
export const OPERATORS = ["*", "//", "@", "+", "-"];
const ROUNDED = ["ceildiv", "floordiv"];

function isBranch<T>(node: Tree<T>): node is Branch<T> {
  return "parts" in node;
}

/**
 * A leaf, or a tuple of trees in parentheses. With `grouping`, parentheses around one entry and no comma are
 * no tuple, as in Python, and a number may go on behind them: `(M + 1) * 64`; without, as in CuTe, they are.
 */
export function tree<T>(cursor: Cursor, leaf: () => Leaf<T>, grouping = true, depth = 1): Tree<T> {
  const first = cursor.at;
  const opened = cursor.accept("(");
  if (!opened) return leaf();
  if (depth > MAX_NESTING) {
    throw cursor.error("TW005", `parentheses nested deeper than ${MAX_NESTING}`, "", spanOf(opened));
  }
  const parts: Tree<T>[] = [];
  let comma = false;
  while (!cursor.accept(")")) {
    if (parts.length && !comma) throw notClosed(cursor, opened);
    if (cursor.next.text === ",") throw cursor.error("TW004", "an entry is missing before ','");
    parts.push(tree(cursor, leaf, grouping, depth + 1));
    comma = cursor.accept(",") !== null;
  }
  const span = cursor.since(opened);
  const [only] = parts;
  if (!grouping || comma || parts.length !== 1 || !only) return { parts, span };
  if (isBranch(only)) return only;
  if (!OPERATORS.includes(cursor.next.text)) return { value: only.value, span };
  cursor.at = first;
  return leaf();
}

function notClosed(cursor: Cursor, opened: Token): LayoutError {
  const found = cursor.next;
  if (found.kind === "end") return cursor.error("TW004", "'(' is never closed", "", spanOf(opened));
  if ([":", "]", ">"].includes(found.text)) {
    return cursor.error("TW004", `'(' is not closed before ${quoted(found)}`, "", spanOf(opened));
  }
  const another = found.kind === "number" || found.kind === "name" || found.text === "(";
  let hint = another ? "separate the entries of a tuple with commas" : "";
  if (found.text === "@") hint = "strides follow a colon: S[(8, 4) : (4@laneid, 1)]";
  return cursor.error("TW004", `expected ',' or ')', found ${quoted(found)}`, hint);
}

/** A sum of products of integers: `8`, `4*K`, `M//8`, `-1`, `M + 2`. */
export function integer(cursor: Cursor, names: Names): Leaf<bigint> {
  const start = cursor.next;
  return { value: sum(cursor, names), span: cursor.since(start) };
}

/** Takes a number without operators. */
type Factor = (cursor: Cursor, names: Names) => bigint;

/** A sum of products of numbers, each taken by `one`. */
export function sum(cursor: Cursor, names: Names, one: Factor = factor): bigint {
  const start = cursor.next;
  let value = product(cursor, names, one);
  for (let sign = cursor.accept("+", "-"); sign; sign = cursor.accept("+", "-")) {
    const addend = product(cursor, names, one);
    value += sign.text === "-" ? -addend : addend;
    cursor.blame(start, () => asInt(value, "a sum"));
  }
  return value;
}

/** A stride or an offset: `4@laneid`, `16`, `1@x + 1@y`, `-2@m`. */
export function vector(cursor: Cursor, names: Names): Leaf<Vector> {
  const start = cursor.next;
  const terms = termsOf(term(cursor, names));
  for (let sign = cursor.accept("+", "-"); sign; sign = cursor.accept("+", "-")) {
    const addend = term(cursor, names);
    terms.push(...termsOf(sign.text === "-" ? negated(addend) : addend));
  }
  return { value: total(cursor, terms, start), span: cursor.since(start) };
}

/** The sum of all terms. */
export function total(cursor: Cursor, terms: readonly Term[], start: Token): Vector {
  const sum = vectorOf(terms);
  cursor.blame(start, () => termsOf(sum).forEach(([, steps]) => asInt(steps, "a sum")));
  return sum;
}

/** `4@laneid`, or a bare number, which is on m; a bare 0 names no axis. */
export function term(cursor: Cursor, names: Names): Vector {
  const start = cursor.next;
  const steps = product(cursor, names);
  if (cursor.accept("@")) {
    const moved = vectorOf([[axisName(cursor, names), steps]]);
    if (cursor.next.text !== "@") return moved;
    const hint = `a step along two axes is a sum: ${spelledVector(moved)} + 1@reg`;
    throw cursor.error("TW004", "a second axis for one step", hint);
  }
  if (isKnown(cursor.next.text)) {
    const said = onOneLine(cursor.text.slice(...cursor.since(start)));
    const hint = `put @ between steps and axis: ${said}@${cursor.next.text}`;
    throw cursor.error("TW004", `expected an operator, found ${quoted(cursor.next)}`, hint);
  }
  return vectorOf(steps ? [["m", steps]] : []);
}

/** The name of an axis. */
export function axisName(cursor: Cursor, names: Names): string {
  const token = cursor.next;
  if (token.kind !== "name") {
    let hint = "name the axis, such as @m or @laneid";
    if (token.kind === "number") hint = `a basis stride of CuTe's dialect is spelled @e${token.text} here`;
    throw cursor.error("TW103", `expected the name of an axis, found ${quoted(token)}`, hint);
  }
  if (cursor.ahead(1).text === ".") {
    const after = cursor.ahead(2);
    const hint = after.kind === "name" ? `write @${after.text}` : "";
    const reason = `'${shortened(token.text)}.' is no part of an axis`;
    throw cursor.error("TW002", reason, hint, [token.start, cursor.ahead(1).end]);
  }
  return cursor.blame(token, () => axisOf(cursor.take().text, names.storage).name);
}

/** A product of integers and names; `//` must divide without a rest. */
export function product(cursor: Cursor, names: Names, one: Factor = factor): bigint {
  const start = cursor.next;
  let value = one(cursor, names);
  for (let sign = cursor.accept("*", "//"); sign; sign = cursor.accept("*", "//")) {
    const other = one(cursor, names);
    if (sign.text === "*") value *= other;
    else if (!other || value % other) {
      const reason = other ? `${value} // ${other} leaves a rest` : "division by 0";
      throw cursor.error("TW101", reason, "only exact quotients are numbers here", cursor.since(start));
    } else value /= other;
    cursor.blame(start, () => asInt(value, "a product"));
  }
  return value;
}

/** An integer literal, a name with a value, a quotient, or a sum in parentheses; a sign before it. */
function factor(cursor: Cursor, names: Names): bigint {
  const minus = cursor.accept("-", "+")?.text === "-";
  const value = unsigned(cursor, names);
  return minus ? -value : value;
}

function unsigned(cursor: Cursor, names: Names): bigint {
  const token = cursor.next;
  if (token.kind === "number") return literal(cursor, cursor.take().text);
  if (token.kind === "name") {
    return opensRounded(cursor) ? rounded(cursor, names) : valueOf(cursor, names, cursor.take());
  }
  if (token.text !== "(") throw noNumber(cursor, token);
  const opened = cursor.take();
  const value = cursor.deeper("parentheses", opened, () => sum(cursor, names));
  cursor.expect(")", opened);
  return value;
}

/** Whether `ceildiv(` or `floordiv(` is ahead. */
export function opensRounded(cursor: Cursor): boolean {
  return ROUNDED.includes(cursor.next.text) && cursor.ahead(1).text === "(";
}

/** `ceildiv(a, b)` or `floordiv(a, b)`. */
export function rounded(cursor: Cursor, names: Names, one: Factor = factor): bigint {
  const word = cursor.take();
  const opened = cursor.take();
  const [over, by] = cursor.deeper("parentheses", opened, () => {
    const dividend = sum(cursor, names, one);
    cursor.expect(",", opened, `${word.text} takes two numbers`);
    return [dividend, sum(cursor, names, one)] as const;
  });
  cursor.expect(")", opened);
  if (by < 1n) throw cursor.error("TW101", `${by} divides nothing here`, "take 1 or more", cursor.since(word));
  return floorDivided(word.text === "ceildiv" ? over + by - 1n : over, by);
}
/** The value of a name, the token taken last. */
export function valueOf(cursor: Cursor, names: Names, token: Token): bigint {
  const value = names.values.get(token.text);
  if (value !== undefined) return cursor.blame(token, () => asInt(value, `the value of ${token.text}`));
  const name = shortened(token.text);
  if (["S", "R", "O"].includes(token.text)) {
    throw cursor.error("TW004", `expected a number, found '${name}'`, "", spanOf(token));
  }
  if (isKnown(token.text)) {
    const hint = `say how many steps: 1@${name}`;
    throw cursor.error("TW007", `'${name}' is an axis, not a number`, hint, spanOf(token));
  }
  const near = closest(name, names.values.keys());
  const hint = near
    ? `did you mean ${near}?`
    : `give it one: --let ${name}=64, or parse(text, let={'${name}': 64})`;
  throw cursor.error("TW007", `'${name}' has no value`, hint, spanOf(token));
}

/** The refusal of a token where a number belongs. */
export function noNumber(cursor: Cursor, token: Token): LayoutError {
  let hint = "";
  if (token.text === "@") hint = "say how many steps: 1@laneid";
  if (token.text === "[" || token.text === "{") hint = "tuples stand in parentheses: (8, 4)";
  if (token.text === "*" && cursor.behind.text === "*") {
    hint = "no powers are read: write the number, such as 1024 or 0x400";
  }
  return cursor.error("TW004", `expected a number, found ${quoted(token)}`, hint, spanOf(token));
}

/** The number that the digits of the token taken last spell, in decimal or hexadecimal. */
export function literal(cursor: Cursor, digits: string): bigint {
  const token = cursor.behind;
  if (digits.length > MAX_DIGITS) {
    const reason = `a number of ${digits.length} digits; at most ${MAX_DIGITS} are read`;
    const hint = "layouts describe real machines; look for a typing error";
    throw cursor.error("TW005", reason, hint, spanOf(token));
  }
  return cursor.blame(token, () => asInt(BigInt(digits), "a number"));
}

/** The shape that a tree of integers spells; every extent positive. */
export function shapeOfTree(cursor: Cursor, node: Tree<bigint>): Mode[] {
  checkExtents(cursor, node);
  return (isBranch(node) ? node.parts : [node]).map((part) => mode(cursor, part));
}

function checkExtents(cursor: Cursor, node: Tree<bigint>): void {
  if (isBranch(node)) node.parts.forEach((part) => checkExtents(cursor, part));
  else if (node.value < 1n) {
    const hint = node.value
      ? "a negative stride runs backwards, an extent counts"
      : "a mode of extent 0 holds no element; leave the mode out or give it extent 1";
    throw cursor.error("TW102", `an extent must be positive, not ${node.value}`, hint, node.span);
  }
}

function mode(cursor: Cursor, node: Tree<bigint>): Mode {
  if (!isBranch(node)) return node.value;
  if (!node.parts.length) {
    const hint = "leave it out, or give it extent 1";
    throw cursor.error("TW102", "an empty mode inside a shape", hint, node.span);
  }
  return node.parts.map((part) => mode(cursor, part));
}

/** The strides in the order of the shape's extents; the nesting must be the same. */
export function congruent<T>(cursor: Cursor, shape: Tree<bigint>, strides: Tree<T>, letter: string): T[] {
  return paired(cursor, asBranch(shape), asBranch(strides), letter);
}

function asBranch<T>(node: Tree<T>): Branch<T> {
  return isBranch(node) ? node : { parts: [node], span: node.span };
}

function paired<T>(cursor: Cursor, shape: Tree<bigint>, strides: Tree<T>, letter: string): T[] {
  if (!isBranch(shape) && !isBranch(strides)) return [strides.value];
  if (isBranch(shape) && isBranch(strides) && shape.parts.length === strides.parts.length) {
    const steps = strides.parts;
    return shape.parts.flatMap((part, i) => paired(cursor, unwrapped(part), unwrapped(steps[i]!), letter));
  }
  const nested = isBranch(shape) && shape.parts.some(isBranch);
  const wanted = counted(isBranch(shape) ? shape.parts.length : 1, nested ? "mode" : "extent");
  const given = counted(isBranch(strides) ? strides.parts.length : 1, "stride");
  const spelled = onOneLine(cursor.text.slice(...shape.span));
  const hint = "write one stride for every extent, in the same nesting; 0 for a digit that does not move";
  throw cursor.error("TW003", `${letter} has ${wanted} in ${spelled} and ${given}`, hint, strides.span);
}

function unwrapped<T>(node: Tree<T>): Tree<T> {
  while (isBranch(node) && node.parts.length === 1) node = node.parts[0]!;
  return node;
}
