/** Axes: the named directions in which places differ. */

import { LayoutError } from "./errors";

export type Kind = "storage" | "owner" | "device";

/** A named direction. Any identifier is one; a known one has its kind. */
export interface Axis {
  readonly name: string;
  readonly kind: Kind;
}

const KNOWN: ReadonlyMap<string, Kind> = new Map([
  ...["m", "reg", "TCol"].map((name): [string, Kind] => [name, "storage"]),
  ...["TLane", "laneid", "wid_in_wg", "tid_in_wg", "wgid", "warpid", "tx"].map(owner),
  ...["cbx", "cby", "cbz", "bx", "by", "bz"].map(owner),
  ...["gpuid_x", "gpuid_y"].map((name): [string, Kind] => [name, "device"]),
]);

function owner(name: string): [string, Kind] {
  return [name, "owner"];
}

/** Whether an axis is one of those of which the hardware's facts are known. */
export function isKnown(name: string): boolean {
  return KNOWN.has(name);
}

const WORD = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const LETTERS = /^[\p{L}\p{N}_]*$/u;

/** The axis of that name; one of your own holds elements where it is among `storage`. */
export function axisOf(name: string, storage: ReadonlySet<string>): Axis {
  if (!WORD.test(name) || !LETTERS.test(name)) {
    const hint = "an axis is an identifier: letters, digits and _, not starting with a digit";
    throw new LayoutError("TW103", `'${name}' cannot name an axis`, hint);
  }
  const known = KNOWN.get(name) ?? (name.startsWith("gpuid_") ? "device" : undefined);
  if (known && known !== "storage" && storage.has(name)) {
    const hint = "choose another name for an axis of your own";
    throw new LayoutError("TW103", `${name} is a known axis of kind ${known}`, hint);
  }
  return { name, kind: known ?? (storage.has(name) ? "storage" : "owner") };
}
