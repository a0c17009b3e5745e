/** A tile in memory: where every element begins, in bytes, or in bits where it is smaller than a byte. */

import { LayoutError, table, type DType, type Layout } from "../core";
import { scaledSwizzle } from "../core/swizzles";
import { moves } from "../core/vectors";
import { Refusal } from "./patterns";

const BYTE = 8;

/** A tile whose elements have one address each. */
export class Stored {
  readonly size: number;
  readonly bits: number;
  /** Bits of what addresses count: 8, or 1. */
  readonly unit: number;
  /** Units from an element to the one that follows it in memory. */
  readonly step: number;
  /** The axis on which elements lie. */
  readonly axis: string;
  private readonly places: ArrayLike<number | bigint>;

  constructor(
    readonly layout: Layout,
    readonly dtype: DType,
    readonly base: number,
  ) {
    this.axis = axisOf(layout);
    if (layout.replica.some(({ extent, stride }) => extent > 1n && moves(stride))) {
      const hint = "ask about the layout without R, one copy at a time";
      throw new Refusal("TW610", "an element with copies has no one address", hint);
    }
    this.bits = dtype.bits;
    this.unit = dtype.bits % BYTE ? 1 : BYTE;
    this.step = dtype.bits / this.unit;
    layout.swizzles.forEach((swizzle) => scaledSwizzle(swizzle, dtype.bits, this.unit));
    this.size = Number(layout.size);
    this.places = table(layout, { from: 0, to: this.size })[this.axis]!;
  }

  /** The address of the element of a flat index, in units. */
  at(index: number): number {
    return Number(this.places[index]) * this.step + (this.base * BYTE) / this.unit;
  }
}

/** The names of the axes on which a layout steps or stands aside, by first appearance. */
export function movingOf(layout: Layout): string[] {
  const vectors = [
    ...[...layout.digits, ...layout.replica].filter((it) => it.extent > 1n).map((it) => it.stride),
    layout.offset,
    layout.outer,
  ];
  return [...new Set(vectors.flatMap((vector) => Object.keys(vector).filter((name) => vector[name])))];
}

/** The one axis on which elements lie. */
function axisOf(layout: Layout): string {
  const moving = movingOf(layout).map((name) => layout.axes.find((axis) => axis.name === name)!);
  for (const axis of moving) {
    if (axis.kind === "storage" && axis.name !== "reg" && axis.name !== "TCol") continue;
    throw new Refusal(
      "TW610",
      `elements live on ${axis.name}, and a lane asks for an address of memory`,
      "the expression is the tile in memory; who holds its elements goes into the field access",
    );
  }
  if (moving.length > 1) {
    const both = moving.map((axis) => axis.name).join(" and ");
    throw new LayoutError("TW203", `elements live on ${both}, and an address is one number`);
  }
  return moving[0]?.name ?? layout.swizzledAxis?.name ?? layout.axes[0]!.name;
}
