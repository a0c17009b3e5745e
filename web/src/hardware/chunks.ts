/** The rows of 16 bytes that TMA writes of a tile, in the order of memory, eight at once. */

import { Refusal, vectorsOf, type Pattern, type Stored } from "./kit";

/** A digit of the tile's index: how far it steps in memory, and in the index. */
interface Digit {
  readonly extent: number;
  readonly step: number;
  readonly weight: number;
}

export const NAME = "tma";
const BYTES = 16;
/** Rows of 16 bytes that go at once. */
const TOGETHER = 8;

/** What `tma` asks of a tile. */
export function chunksOf(stored: Stored): Pattern {
  return {
    name: NAME,
    operation: NAME,
    bytes: BYTES,
    index(elements) {
      const lanes = Math.min(TOGETHER, Math.ceil(stored.size / elements));
      const requests = Math.ceil(stored.size / (lanes * elements));
      return vectorsOf(requests, lanes, elements, inOrderOfMemory(stored, elements, lanes * elements))(elements);
    },
  };
}

/** From places of memory, before any swizzle, to the elements that lie there. */
function inOrderOfMemory(stored: Stored, row: number, request: number): (place: number) => number {
  const digits = digitsOf(stored);
  const order = [...digits].sort((a, b) => a.step - b.step);
  if (digits.every((digit, at) => digit === order[at]) || digits.some(({ step }) => step < 1)) return (place) => place;
  const endsInside = endsOf(order).some((end) => [row, request].some((cut) => end % cut && cut % end));
  if (endsInside || stored.size % request) throw uneven(stored, order[0]!, digits);
  return (place) => {
    let [rest, flat] = [place, 0];
    for (const { extent, weight } of order) {
      flat += (rest % extent) * weight;
      rest = Math.floor(rest / extent);
    }
    return flat;
  };
}

/** The digits that move, the fastest of the index first. */
function digitsOf({ layout, axis }: Stored): Digit[] {
  let weight = 1;
  const digits = [...layout.digits].reverse().map(({ extent, stride }) => {
    const digit = { extent: Number(extent), step: Number(stride[axis] ?? 0), weight };
    weight *= digit.extent;
    return digit;
  });
  return digits.filter(({ extent }) => extent > 1);
}

/** Where runs of memory end, but for the last: the next digit of memory is not the next one of the index. */
function endsOf(order: readonly Digit[]): number[] {
  let reach = 1;
  return order.slice(0, -1).flatMap(({ extent, weight }, at) => {
    reach *= extent;
    return order[at + 1]!.weight === weight * extent ? [] : [reach];
  });
}

function uneven({ layout, bits }: Stored, { extent }: Digit, digits: readonly Digit[]): Refusal {
  const isMatrix = digits.length === 2 && layout.shape.length === 2;
  const run = Math.floor((extent * bits) / 8);
  const reason = `the tile lies in memory in runs of ${run} bytes, and eight chunks of ${BYTES} bytes end inside them`;
  return new Refusal("TW610", reason, isMatrix ? "ask about the tile with its modes swapped" : "ask about one box of it");
}
