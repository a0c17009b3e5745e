/**
 * The layout: a map from a logical index to a set of places.
 *
 *     L(x) = { P + Sw(D(x) + r + O) : r in R }
 *
 * The numbers are exact. `digits` are D, slowest first; `replica` is R, `offset` O, `outer` P. A layout in CuTe's
 * notation has its shape and strides as they are written, and its index counts as CuTe does.
 */

import type { Axis } from "./axes";
import { axisOf } from "./axes";
import { copiesOf, type Point } from "./copies";
import { LayoutError } from "./errors";
import { modulo } from "./integers";
import { leavesOf, MAX_ITERS, shapeOf, sizeOf, type Order, type Shape } from "./shapes";
import { periodOf, type Swizzle } from "./swizzles";
import { moves, spelledVector, termsOf, vectorOf, ZERO, type Vector } from "./vectors";

/** A digit of the index, or of the copies, and the step that it makes. */
export interface Iter {
  readonly extent: bigint;
  readonly stride: Vector;
}

/** What is written of a layout. */
export interface Parts {
  readonly shape: Shape;
  readonly strides: readonly Vector[];
  readonly replica?: readonly Iter[];
  readonly offset?: Vector;
  readonly swizzles?: readonly Swizzle[];
  readonly outer?: Vector;
  /** Axes of your own that hold elements. */
  readonly storage?: ReadonlySet<string>;
  readonly order?: Order;
}

const MAX_SWIZZLES = 64;
const NONE: ReadonlySet<string> = new Set();

/** A layout, checked, with the outer offset moved inside wherever the swizzles let it through. */
export class Layout {
  readonly shape: Shape;
  readonly strides: readonly Vector[];
  readonly order: Order;
  readonly digits: readonly Iter[];
  readonly replica: readonly Iter[];
  readonly offset: Vector;
  readonly swizzles: readonly Swizzle[];
  readonly outer: Vector;
  /** All axes that are named, by first appearance; m if there is none. */
  readonly axes: readonly Axis[];
  readonly size: bigint;
  readonly storage: ReadonlySet<string>;
  #copies: readonly Point[] | undefined;

  constructor(parts: Parts) {
    this.shape = shapeOf(parts.shape);
    const extents = leavesOf(this.shape);
    this.strides = parts.strides;
    this.order = parts.order ?? "row";
    const digits = parts.strides.map((stride, i) => ({ extent: extents[i] ?? 1n, stride }));
    this.digits = this.order === "row" ? digits : digits.reverse();
    this.replica = parts.replica ?? [];
    this.swizzles = parts.swizzles ?? [];
    this.storage = parts.storage ?? NONE;
    this.size = sizeOf(this.shape);
    this.#check();
    const period = periodOf(this.swizzles);
    const outer = termsOf(parts.outer ?? ZERO);
    const passes = ([axis, steps]: (typeof outer)[number]) =>
      axis !== this.swizzledAxis?.name || modulo(steps, period) === 0n;
    const inside = outer.filter(passes);
    this.offset = vectorOf([...termsOf(parts.offset ?? ZERO), ...inside]);
    this.outer = vectorOf(outer.filter((term) => !passes(term)));
    this.axes = this.#named();
  }

  /** The axis on which the swizzles act. */
  get swizzledAxis(): Axis | null {
    return this.swizzles[0]?.axis ?? null;
  }

  /** The distinct copies as steps on the axes, sorted. */
  get copySteps(): readonly Point[] {
    return (this.#copies ??= copiesOf(this));
  }

  /** How many distinct places each element has. */
  get copies(): bigint {
    return BigInt(this.copySteps.length);
  }

  /** What is written, with other values for some of it. */
  with(changed: Partial<Parts>): Layout {
    const { shape, strides, replica, offset, swizzles, outer, storage, order } = this;
    return new Layout({ shape, strides, replica, offset, swizzles, outer, storage, order, ...changed });
  }

  /** O[outer] o swizzles o this. */
  swizzled(swizzles: readonly Swizzle[], outer: Vector = ZERO): Layout {
    if (moves(this.outer) && swizzles.length) {
      const reason = `an outer offset ${spelledVector(this.outer)} between two swizzles`;
      throw new LayoutError("TW104", reason, "an outer offset stands leftmost, once");
    }
    const joined = vectorOf([...termsOf(outer), ...termsOf(this.outer)]);
    return this.with({ swizzles: [...swizzles, ...this.swizzles], outer: joined });
  }

  #check(): void {
    if (this.replica.length > MAX_ITERS) {
      throw new LayoutError("TW005", `more than ${MAX_ITERS} replica iters`);
    }
    if (this.swizzles.length > MAX_SWIZZLES) {
      throw new LayoutError("TW005", `a chain of more than ${MAX_SWIZZLES} swizzles`);
    }
    const axes = [...new Set(this.swizzles.map((swizzle) => swizzle.axis.name))].sort();
    if (axes.length > 1) {
      const named = axes.join(" and ");
      throw new LayoutError("TW104", `the swizzles of a chain act on one axis, here on ${named}`);
    }
  }

  #named(): Axis[] {
    const strides = [...this.strides, ...this.replica.map((iter) => iter.stride)];
    const swizzled = this.swizzles.map((swizzle) => swizzle.axis.name);
    const inside = [...strides, this.offset].flatMap((vector) => Object.keys(vector));
    const names = [...inside, ...swizzled, ...Object.keys(this.outer)];
    return [...new Set(names.length ? names : ["m"])].map((name) => axisOf(name, this.storage));
  }
}
