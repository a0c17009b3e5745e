/** The gate through which numbers enter: exact integers of a printable size. */

import { LayoutError } from "./errors";

export const MAX_DIGITS = 1_000;
const LARGEST = 10n ** BigInt(MAX_DIGITS);

/** The value itself, where it has at most 1,000 digits. */
export function asInt(value: bigint, what: string): bigint {
  if (value >= LARGEST || value <= -LARGEST) {
    const hint = "layouts describe real machines; look for a typing error";
    throw new LayoutError("TW005", `${what} has more than ${MAX_DIGITS} digits`, hint);
  }
  return value;
}

/** Whether a size is beyond what is read. */
export function isTooLarge(size: bigint): boolean {
  return size >= LARGEST;
}

/** The remainder that is not negative, as Python's `%` by a positive number. */
export function modulo(value: bigint, by: bigint): bigint {
  const rest = value % by;
  return rest < 0n ? rest + by : rest;
}

/** The largest integer that is not above value / by, for a positive `by`. */
export function floorDivided(value: bigint, by: bigint): bigint {
  return (value - modulo(value, by)) / by;
}

export function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
