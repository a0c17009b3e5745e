/** What gives an element its colour: its owner, the chunk that a swizzle moves, or eight bands of memory. */

import type { Layout } from "../core";
import { extent, term } from "./lines";
import { FAR } from "./logical";
import { largest } from "./panels";
import type { Axis, Colour } from "./types";

const COLOURS = 8;

/** The colour that tells most: the owner of most values, else the swizzled axis, else the first. */
export function colourOf(layout: Layout, axes: readonly Axis[]): Colour {
  const owner = largest(axes.filter((axis) => axis.kind !== "storage"));
  const swizzled = axes.find((axis) => axis.name === layout.swizzledAxis?.name);
  const axis = owner ?? swizzled ?? axes[0]!;
  const last = layout.swizzles[layout.swizzles.length - 1];
  if (axis === swizzled && last?.bits) {
    const divide = Math.min(2 ** (last.base - Math.min(0, last.shift)), FAR);
    const rule = term(axis.name, 0, { divide, modulo: Math.min(COLOURS, 2 ** last.bits) });
    return { rule, words: "by the chunks that the swizzle permutes" };
  }
  const many = extent(axis) > COLOURS;
  if (axis.kind === "storage") {
    const rule = term(axis.name, COLOURS * axis.low, { scale: COLOURS, divide: extent(axis) });
    return { rule, words: `by ${axis.name}${many ? ` in ${COLOURS} bands` : ""}` };
  }
  const rule = term(axis.name, axis.low, { modulo: COLOURS });
  return { rule, words: `by ${axis.name}${many ? ` mod ${COLOURS}` : ""}` };
}
