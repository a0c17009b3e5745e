/** XOR swizzles: permutations of the addresses on one storage axis. */

import type { Axis } from "./axes";
import { isKnown } from "./axes";
import { LayoutError } from "./errors";
import { abs } from "./integers";

/** Bits [base+shift, base+shift+bits) of an address are XORed into [base, base+bits). */
export interface Swizzle {
  readonly bits: number;
  readonly base: number;
  readonly shift: number;
  readonly axis: Axis;
}

const MAX_BITS = 1_024n;

/** The hardware's modes: all are Swizzle<B, 4, 3> on byte addresses. */
export const NAMED_BITS: ReadonlyMap<string, number> = new Map([
  ["SWIZZLE_NONE", 0],
  ["SWIZZLE_32B", 1],
  ["SWIZZLE_64B", 2],
  ["SWIZZLE_128B", 3],
]);

/** A swizzle of these numbers, refused where it is no permutation of a storage axis. */
export function swizzleOf(bits: bigint, base: bigint, shift: bigint, axis: Axis): Swizzle {
  const spelled = `Swizzle<${bits},${base},${shift}>${axis.name === "m" ? "" : `@${axis.name}`}`;
  if (bits < 0n || base < 0n) {
    const hint = "the order is Swizzle<B, M, S>: bits, base, shift";
    throw new LayoutError("TW104", `${spelled}: the number of bits and the base are not negative`, hint);
  }
  if (abs(shift) < bits) {
    const first = base + abs(shift);
    const last = base + bits - 1n;
    const shared = first === last ? ` ${first}` : `s ${first}..${last}`;
    const hint = `|S| must be at least B; Swizzle<${bits},${base},${bits}> is one`;
    throw new LayoutError("TW104", `${spelled}: its two fields collide on bit${shared}`, hint);
  }
  if (bits + base + abs(shift) > MAX_BITS) {
    throw new LayoutError("TW005", `${spelled}: a swizzle of more than ${MAX_BITS} address bits`);
  }
  if (axis.kind !== "storage") {
    const hint = isKnown(axis.name)
      ? "swizzles act on addresses, such as @m"
      : `declare it: Axis("${axis.name}", storage=True), or --storage ${axis.name}`;
    const reason = `${axis.name} is no storage axis, so no address on it can be swizzled`;
    throw new LayoutError("TW104", reason, hint);
  }
  return { bits: Number(bits), base: Number(base), shift: Number(shift), axis };
}

/** The same permutation with addresses counted in units denominator/numerator as large. */
export function scaledSwizzle(swizzle: Swizzle, numerator: number, denominator: number): Swizzle {
  if (!swizzle.bits || numerator === denominator) return swizzle;
  const up = Math.floor(Math.log2(numerator));
  const down = Math.floor(Math.log2(denominator));
  const base = swizzle.base + up - down;
  if (numerator * 2 ** down !== denominator * 2 ** up || base < 0) {
    const units = `units of ${denominator} bits instead of ${numerator}`;
    const hint = "a swizzle moves whole units; the ratio must be a power of two that its base allows";
    throw new LayoutError("TW106", `${spelledSwizzle(swizzle)} cannot be counted in ${units}`, hint);
  }
  return { ...swizzle, base };
}

/** The repetition of the pattern of a whole chain, a power of two. */
export function periodOf(swizzles: readonly Swizzle[]): bigint {
  const bits = swizzles.map((s) => (s.bits ? s.bits + s.base + Math.abs(s.shift) : 0));
  return 1n << BigInt(Math.max(0, ...bits));
}

/** Where a chain sends an address: its last swizzle acts first. */
export function applied(swizzles: readonly Swizzle[], address: bigint): bigint {
  return swizzles.reduceRight((moved, swizzle) => swizzled(swizzle, moved), address);
}

/** The address that a chain sends to this one. */
export function undone(swizzles: readonly Swizzle[], address: bigint): bigint {
  return swizzles.reduce((moved, swizzle) => swizzled(swizzle, moved), address);
}

function swizzled({ bits, base, shift }: Swizzle, address: bigint): bigint {
  const source = ((1n << BigInt(bits)) - 1n) << BigInt(base + Math.max(0, shift));
  return address ^ ((address & source) >> BigInt(shift));
}

/** `applied` on numbers of 32 bits, for periods of at most 2^31: the same, and fast. */
export function applyInPlace(swizzles: readonly Swizzle[], addresses: Float64Array): void {
  for (const { bits, base, shift } of [...swizzles].reverse()) {
    const source = ((1 << bits) - 1) << (base + Math.max(0, shift));
    const right = Math.max(0, shift);
    const left = Math.max(0, -shift);
    for (let i = 0; i < addresses.length; i++) {
      const address = addresses[i]!;
      addresses[i] = address ^ (((address & source) >> right) << left);
    }
  }
}

/** `applied` on numbers on the way to which none exceeds 2^53, and swizzles of at most 30 bits. */
export function applyToLarge(swizzles: readonly Swizzle[], addresses: Float64Array): void {
  for (const { bits, base, shift } of [...swizzles].reverse()) {
    const count = 2 ** bits;
    const to = 2 ** (base + Math.max(0, -shift));
    const from = 2 ** (base + Math.max(0, shift));
    for (let i = 0; i < addresses.length; i++) {
      const address = addresses[i]!;
      const [source, digit] = [Math.floor(address / from), Math.floor(address / to)];
      const [moving, before] = [source - Math.floor(source / count) * count, digit - Math.floor(digit / count) * count];
      addresses[i] = address + ((before ^ moving) - before) * to;
    }
  }
}

/** `Swizzle<3,4,3>`, with its axis where that is not m. */
export function spelledSwizzle({ bits, base, shift, axis }: Swizzle): string {
  return `Swizzle<${bits},${base},${shift}>${axis.name === "m" ? "" : `@${axis.name}`}`;
}
