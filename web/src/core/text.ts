/** The canonical text of a layout, and its spelling in Python. */

import { isKnown } from "./axes";
import type { Iter, Layout } from "./layout";
import { mirrored } from "./orders";
import { inParentheses, spelledShape, type Mode } from "./shapes";
import { spelledSwizzle, type Swizzle } from "./swizzles";
import { moves, signed, spelledVector, termsOf, type Vector } from "./vectors";

/**
 * The canonical text, as Python's `str`: `@m` is written only where another axis is named. A layout that counts as
 * CuTe does is written as CuTe writes it, where CuTe has words for it.
 */
export function print(layout: Layout): string {
  if (layout.order === "cute") return cuteText(layout, false) ?? print(mirrored(layout));
  return joined(layout, " o ", spelledSwizzle, namesAxes(layout));
}

/** The spelling in Python, as `repr`. */
export function pythonText(layout: Layout): string {
  const text = joined(layout, " @ ", pythonSwizzle, true);
  if (layout.order === "row") return text;
  const isSum = layout.swizzles.length || layout.replica.length || termsOf(layout.offset).length;
  return `${isSum ? `(${text})` : text}.ordered('cute')`;
}

/** The layout in CuTe's notation, or null where CuTe has no words for it. */
export function printCute(layout: Layout): string | null {
  return cuteText(layout.order === "cute" ? layout : mirrored(layout), true);
}

/** What is not `strict` has words that are read and that CuTe does not write, as Python's `cute_text`. */
function cuteText(layout: Layout, strict: boolean): string | null {
  const { offset, shape, swizzles } = layout;
  const isOdd = termsOf(offset).some(([axis, steps]) => axis !== "m" && steps);
  const isElsewhere = layout.swizzledAxis !== null && layout.swizzledAxis.name !== "m";
  const isUnsayable = layout.replica.length > 0 || moves(layout.outer) || isElsewhere || isOdd;
  if (isUnsayable || (strict && moves(offset) && !swizzles.length)) return null;
  const steps = layout.strides.map((stride) => cuteStride(stride, strict));
  if (steps.includes(null)) return null;
  const plain = `${nested(shape, null)}:${nested(shape, (steps as string[]).values())}`;
  const chain = swizzles.map(({ bits, base, shift }) => `Sw<${bits},${base},${shift}> o `).join("");
  return swizzles.length || moves(offset) ? `${chain}${offset["m"] ?? 0n} o ${plain}` : plain;
}

/** `8`, or `1@0` for a step on axis e0; null for others. */
function cuteStride(stride: Vector, strict: boolean): string | null {
  const [first, ...more] = termsOf(stride).filter(([, steps]) => steps || !strict);
  if (!first) return "0";
  const [axis, steps] = first;
  if (more.length) return null;
  if (axis === "m") return `${steps}`;
  const [, basis] = /^e(0|[1-9][0-9]*)$/.exec(axis) ?? [];
  return basis ? `${steps}@${basis}` : null;
}

/** The extents of a mode, or words in their places. */
function nested(mode: Mode, words: Iterator<string> | null, top = true): string {
  if (typeof mode === "bigint") return words ? (words.next().value as string) : `${mode}`;
  if (top && mode.length === 1 && typeof mode[0] === "bigint") return nested(mode[0], words);
  return `(${mode.map((inner) => nested(inner, words, false)).join(",")})`;
}

function pythonSwizzle({ bits, base, shift, axis }: Swizzle): string {
  const own = isKnown(axis.name) ? axis.name : `Axis("${axis.name}", storage=True)`;
  return `Swizzle(${bits}, ${base}, ${shift}${axis.name === "m" ? "" : `, axis=${own}`})`;
}

function namesAxes(layout: Layout): boolean {
  return layout.axes.some((axis) => axis.name !== "m");
}

function joined(layout: Layout, o: string, spell: (swizzle: Swizzle) => string, outerNamed: boolean): string {
  const named = namesAxes(layout);
  const [shard, tail] = body(layout, named);
  if (!layout.swizzles.length) return shard + tail;
  const outer = termsOf(layout.outer).length ? [`O[${spelledVector(layout.outer, outerNamed)}]`] : [];
  return [...outer, ...layout.swizzles.map(spell), tail ? `(${shard}${tail})` : shard].join(o);
}

function body(layout: Layout, named: boolean): [string, string] {
  const strides = layout.strides.values();
  const shard = `S[${spelledShape(layout.shape)} : ${congruent(layout.shape, strides, named, true)}]`;
  const copies = layout.replica.length ? ` + ${replicaText(layout.replica, named)}` : "";
  const offset = termsOf(layout.offset).map((term) => signed(term, named));
  return [layout.shape.length ? shard : "S[()]", copies + offset.join("")];
}

function replicaText(iters: readonly Iter[], named: boolean): string {
  const shape = iters.map((iter) => iter.extent);
  const strides = iters.map((iter) => iter.stride).values();
  return `R[${spelledShape(shape)} : ${congruent(shape, strides, named, true)}]`;
}

/** The strides in the nesting of the shape. */
function congruent(mode: Mode, strides: Iterator<Vector>, named: boolean, top = false): string {
  if (typeof mode === "bigint") return spelledVector(strides.next().value as Vector, named);
  const parts = mode.map((inner) => congruent(inner, strides, named));
  return top && parts.length === 1 && typeof mode[0] === "bigint" ? parts[0]! : inParentheses(parts);
}
