/** The canonical text of a layout, and its spelling in Python. */

import { isKnown } from "./axes";
import type { Iter, Layout } from "./layout";
import { inParentheses, spelledShape, type Mode } from "./shapes";
import { spelledSwizzle, type Swizzle } from "./swizzles";
import { signed, spelledVector, termsOf, type Vector } from "./vectors";

/** The canonical text, as Python's `str`: `@m` is written only where another axis is named. */
export function print(layout: Layout): string {
  return joined(layout, " o ", spelledSwizzle, namesAxes(layout));
}

/** The spelling in Python, as `repr`. */
export function pythonText(layout: Layout): string {
  return joined(layout, " @ ", pythonSwizzle, true);
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
  const strides = layout.digits.map((digit) => digit.stride).values();
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
