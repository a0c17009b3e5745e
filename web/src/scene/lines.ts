/** Rows, columns and blocks: what of a place they are, how many there are, and what stands at their heads. */

import { product } from "./logical";
import type { Axis, Head, Heads, Rule, Term } from "./types";

/** One direction of a panel. */
export interface Line {
  readonly rule: Rule;
  readonly extent: number;
  readonly heads: Heads;
}

/** Elements of so many bits in words of 32, each of which is a cell. */
export interface Packed {
  readonly column: Line;
  readonly slot: Rule;
  readonly slots: number;
  readonly width: number;
}

export const ONE: Line = { rule: [], extent: 1, heads: [] };

/** A term; what is not said leaves the number as it is. */
export function term(axis: string, subtract = 0, rest: Partial<Term> = {}): Term {
  return { axis, subtract, scale: 1, divide: 1, modulo: 0, multiply: 1, ...rest };
}

function head(name: string, rest: Partial<Head> = {}): Head {
  return { name, start: 0, divide: 1, modulo: 0, multiply: 1, low: 0, ...rest };
}

/** What the numbers of the heads are. */
export function nameOf(line: Line): string {
  return line.heads
    .map((own) => own.name)
    .filter((name) => name)
    .join(", ");
}

/** How many places lie between an axis's ends. */
export function extent(axis: Axis): number {
  return axis.high - axis.low + 1;
}

/** All places of some axes, the last axis fastest. */
export function along(axes: readonly Axis[]): Line {
  const [axis] = axes;
  if (!axis) return ONE;
  if (axes.length === 1) {
    return { rule: [term(axis.name, axis.low)], extent: extent(axis), heads: [head(axis.name, { low: axis.low })] };
  }
  const below = axes.map((_, i) => axes.slice(i + 1).reduce((size, own) => size * extent(own), 1));
  return {
    rule: axes.map((own, i) => term(own.name, own.low, { multiply: below[i]! })),
    extent: axes.reduce((size, own) => size * extent(own), 1),
    heads: axes.map((own, i) => head(own.name, { divide: below[i]!, modulo: extent(own), low: own.low })),
  };
}

/** The rows or columns of the logical grid, headed by their coordinates. */
export function ofIndex(axis: string, extents: readonly bigint[], [first, last]: readonly [number, number]): Line {
  const heads = extents.map((own, i) =>
    head("", { start: first, divide: Number(product(extents.slice(i + 1))), modulo: i ? Number(own) : 0 }),
  );
  return { rule: [term(axis, first)], extent: last - first, heads };
}

/** Rows and columns of an axis that goes on in the next row after `wide` places. */
export function wrapped(axis: Axis, wide: number): [Line, Line] {
  const first = Math.floor(axis.low / wide);
  const rows = {
    rule: [term(axis.name, first * wide, { divide: wide })],
    extent: Math.floor(axis.high / wide) - first + 1,
    heads: [head(axis.name, { start: first, multiply: wide })],
  };
  return [rows, { rule: [term(axis.name, 0, { modulo: wide })], extent: wide, heads: [head("+")] }];
}

/** Whether elements fill words of 32 bits, or words an element. */
export function packs(bits: number | null): bits is number {
  return bits !== null && (32 % bits === 0 || bits % 32 === 0);
}

/** The words of an axis, counted from address 0; `base` is in bits. */
export function packed(axis: Axis, bits: number, base = 0): Packed {
  const slots = Math.max(1, Math.floor(32 / bits));
  const width = Math.max(1, Math.floor(bits / 32));
  const first = Math.floor((axis.low * bits + base) / 32);
  const last = Math.floor((axis.high * bits + base) / 32) + width - 1;
  const column = {
    rule: [term(axis.name, 32 * first - base, { scale: bits, divide: 32 })],
    extent: last - first + 1,
    heads: [head("column", { start: first })],
  };
  const within = term(axis.name, 0 - base, { scale: bits, divide: bits, modulo: slots });
  return { column, slot: slots > 1 ? [within] : [], slots, width };
}

/** Memory as rows of 32 banks of 4 bytes; `base` is in bits. */
export function banked(axis: Axis, bits: number, base: number): [Line, Packed] {
  const first = Math.floor((axis.low * bits + base) / 1024);
  const rows = {
    rule: [term(axis.name, 1024 * first - base, { scale: bits, divide: 1024 })],
    extent: Math.floor((axis.high * bits + base) / 1024) - first + 1,
    heads: [head("byte", { start: first, multiply: 128 })],
  };
  const bank = term(axis.name, 0 - base, { scale: bits, divide: 32, modulo: 32 });
  const banks = { rule: [bank], extent: 32, heads: [head("bank")] };
  return [rows, { ...packed(axis, bits, base), column: banks }];
}
