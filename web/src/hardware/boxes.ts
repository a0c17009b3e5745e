/**
 * TMA's copies that fill a tile out of a row-major tensor of the tile's own shape: a step for each box.
 *
 * A mode of W bytes puts what belongs at byte x to Sw(x). Where Sw undone leaves sums of digits, those that follow
 * one another without a gap are the box, and the others count boxes.
 */

import { askedWith, refusedAsked } from "./asked";
import { ALIGNED, boxesOf, coordinatesIn, folded, type Digit, type Fold, type Tensor } from "./fold";
import { LayoutError, Stored, extentsOf, type Asked, type DType, type Layout, type Mode, type Step } from "./kit";

/** A tile in cells, each a byte at least: where each lies, and how many elements one is. */
interface Tile {
  readonly shape: readonly number[];
  readonly digits: readonly Omit<Digit, "stride">[];
  readonly bytes: readonly number[];
  readonly size: number;
  readonly many: number;
}

interface Plan {
  /** W; 0 where nothing is swizzled. */
  readonly width: number;
  readonly fold: Fold;
  readonly start: number;
}

const NAME = "boxes";
const CHUNK = 16;
const ROWS = 8;
const SHARED = 227 * 1024;
const MOST_DIMENSIONS = 5;
const WIDTHS = [0, 32, 64, 128];

/** The boxes that fill a tile; no steps where TMA does not. */
export function boxesAsked(layout: Layout, dtype: DType, base: number): Asked {
  try {
    const unmoved = tileOf(layout, dtype, 0);
    const written = writtenOf(unmoved, layout, dtype);
    const { width } = planned(unmoved, written);
    const aligned = Math.max(ALIGNED, ROWS * width);
    const wrong = [aligned, ROWS * written].find((unit) => base % unit);
    if (base && wrong) throw no(`the tile begins at byte ${base}, which is no multiple of ${wrong}`);
    const tile = tileOf(layout, dtype, base);
    return told(tile, planned(tile, written), dtype, aligned);
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    return refusedAsked(NAME, error.message, "tilewise tma says why");
  }
}

function no(why: string): LayoutError {
  return new LayoutError("", why);
}

function tileOf(layout: Layout, { bits, name }: DType, base: number): Tile {
  if (bits > 64 || (bits < 8 && 8 % bits)) throw no(`TMA moves no elements of ${name}`);
  const stored = new Stored(layout, { bits, name }, base);
  const many = Math.max(1, 8 / bits);
  const shape = extentsOf(layout.shape).map(Number);
  if (shape.length < 1 || shape.length > MOST_DIMENSIONS) throw no(`TMA has 1 to ${MOST_DIMENSIONS} dimensions`);
  shape.push(shape.pop()! / many);
  const digits = digitsOf(layout, many);
  if (shape.at(-1)! % 1 || !digits) throw no(`${many} elements of ${name} travel as a byte, and rows are no whole bytes`);
  const bytes: number[] = [];
  const taken = new Set<number>();
  for (let flat = 0; flat < stored.size; flat++) {
    const at = stored.at(flat);
    const byte = (at * stored.unit) / 8;
    const isOwn = flat % many ? at === stored.at(flat - 1) + stored.step : byte % 1 === 0 && !taken.has(byte);
    if (!isOwn || byte < 0 || byte >= SHARED) {
      throw no(`element ${flat} has no byte of its own in shared memory, at ${byte}`);
    }
    if (flat % many === 0) bytes.push(byte);
    taken.add(byte);
  }
  return { shape, digits, bytes, size: (bits * many) / 8, many };
}

/** The digits of a tile's index in cells, slowest first; null where a cell is no whole digits. */
function digitsOf(layout: Layout, many: number): Omit<Digit, "stride">[] | null {
  const extents = layout.digits.map(({ extent }) => Number(extent));
  for (let at = extents.length - 1, left = many; left > 1; at--) {
    const extent = extents[at] ?? 0;
    if (!extent || (extent % left && left % extent)) return null;
    extents[at] = Math.max(1, extent / left);
    left = Math.max(1, left / extent);
  }
  const counts = layout.shape.map(leaves);
  return counts.flatMap((count, dim) =>
    extents.splice(0, count).map((extent, at, own) => {
      return { dim, extent, step: own.slice(at + 1).reduce((product, other) => product * other, 1) };
    }),
  );
}

function leaves(mode: Mode): number {
  return typeof mode === "bigint" ? 1 : mode.reduce((sum: number, part) => sum + leaves(part), 0);
}

/** The bytes of the mode that a layout is written with; 0 where it is none, or permutes nothing that is packed. */
function writtenOf({ bytes, many }: Tile, { swizzles }: Layout, { bits }: DType): number {
  const [swizzle] = swizzles;
  const isHardware = swizzle?.shift === 3 && 2 ** swizzle.base * bits === 8 * CHUNK;
  const width = isHardware ? CHUNK << swizzle.bits : 0;
  return many > 1 && bytes.every((byte) => unswizzled(byte, width) === byte) ? 0 : width;
}

/** The plan in the fewest boxes, of all modes that explain the tile; the mode that is written goes first. */
function planned(tile: Tile, written: number): Plan {
  const widths = [...WIDTHS].sort((a, b) => Number(b === written) - Number(a === written));
  const plans = widths.flatMap((width) => planOf(tile, width) ?? []);
  if (!plans.length) throw no("no swizzle of the hardware explains the tile, or its rows are none of the tensor's");
  const rank = (plan: Plan): number => boxesOf(plan.fold) + (isLegal(plan, tile) ? 0 : 2 ** 40);
  const best = plans.reduce((least, plan) => (rank(plan) < rank(least) ? plan : least));
  if (!isLegal(best, tile)) throw no("a row of the box or a stride of the tensor is no multiple of 16 bytes");
  if ([best.start, ...best.fold.rest.map(({ stride }) => stride)].some((stride) => stride % ALIGNED)) {
    throw no(`a box starts at a multiple of ${ALIGNED} bytes, and one of the tile's would not`);
  }
  const last = best.fold.rest.reduce((sum, { extent, stride }) => sum + (extent - 1) * stride, best.start);
  if (last + sharedOf(best, tile) > SHARED) throw no(`a block has ${SHARED} bytes of shared memory at most`);
  return best;
}

/** Whether the driver makes a map of it, and an instruction takes its coordinates. */
function isLegal({ fold }: Plan, { size }: Tile): boolean {
  const [row, ...others] = fold.dimensions;
  return (row!.box * size) % CHUNK === 0 && others.every(({ stride }) => stride % CHUNK === 0);
}

/** Bytes from the first row of a box to the end of its last. */
function sharedOf({ fold, width }: Plan, { size }: Tile): number {
  const [row, ...others] = fold.dimensions;
  return others.reduce((bytes, { box }) => bytes * box, Math.max(width, row!.box * size));
}

/** The byte at which an element would lie without a mode. */
function unswizzled(byte: number, width: number): number {
  return byte ^ ((byte >> 3) & Math.max(0, width - CHUNK));
}

/** The plan under a mode; null where that does not explain the tile. */
function planOf({ shape, digits, bytes, size }: Tile, width: number): Plan | null {
  const plain = bytes.map((byte) => unswizzled(byte, width));
  const steps = shape.map((_, dim) => shape.slice(dim + 1).reduce((product, extent) => product * extent, 1));
  const [start = 0] = plain;
  const found = digits
    .filter(({ extent }) => extent > 1)
    .map((digit) => ({ ...digit, stride: plain[steps[digit.dim]! * digit.step]! - start }));
  const isSum = plain.every((byte, flat) => {
    const at = ({ dim, step, extent, stride }: Digit): number =>
      (Math.floor(flat / (steps[dim]! * step)) % extent) * stride;
    return byte === found.reduce((sum, digit) => sum + at(digit), start);
  });
  if (!isSum) return null;
  const ordered = merged(found).sort((a, b) => a.stride - b.stride || a.dim - b.dim);
  const [first] = ordered;
  const contiguous = shape.reduce((best, extent, dim) => (steps[dim] === 1 && extent >= shape[best]! ? dim : best), shape.length - 1);
  if (!first || first.stride !== size || first.dim !== contiguous || first.step !== 1) return null;
  const strides = steps.map((step, dim) =>
    shape[dim] === 1 && dim !== contiguous ? Math.ceil((step * size) / CHUNK) * CHUNK : step * size,
  );
  const tensor: Tensor = { shape, strides, size };
  return { width, fold: folded(ordered, tensor, width), start };
}

/** Digits that go on where a faster one of the same dimension ends are one with it. */
function merged(digits: readonly Digit[]): Digit[] {
  const found: Digit[] = [];
  for (const digit of [...digits].reverse()) {
    const last = found.at(-1);
    if (last?.dim === digit.dim && digit.stride === last.stride * last.extent) {
      found[found.length - 1] = { ...last, extent: last.extent * digit.extent };
    } else found.push(digit);
  }
  return found;
}

// -- in words ------------------------------------------------------------------------------------------

function told(tile: Tile, { width, fold }: Plan, { bits }: DType, aligned: number): Asked {
  const { many, size, bytes, shape } = tile;
  const count = boxesOf(fold);
  const inside = elementsIn(tile, fold);
  const flatOf = (index: readonly number[]): number => index.reduce((flat, at, dim) => flat * shape[dim]! + at, 0);
  const stepOf = (first: readonly number[], number: number): Step => {
    const cells = inside.map((flat) => flat + flatOf(first));
    const elements = cells.flatMap((cell) => Array.from({ length: many }, (_, at) => cell * many + at));
    const own = cells.map((cell) => bytes[cell]!);
    const last = own.reduce((most, byte) => Math.max(most, byte), 0) + size - 1;
    const land = `${elements.length} elements land at bytes ${own.reduce((a, b) => Math.min(a, b), Infinity)}..${last}`;
    return {
      title: `box ${number + 1} of ${count}`,
      elements,
      lanes: [],
      cost: null,
      copies: null,
      note: `coordinates {${coordinatesIn(fold, first).join(", ")}}: ${land}`,
      encoded: null,
    };
  };
  const extents = fold.dimensions.map(({ box }) => box);
  const total = extents.reduce((product, extent) => product * extent, size);
  const said = `${extents.join(" x ")} ${bits < 8 ? "bytes" : "elements"}, SWIZZLE_${width ? `${width}B` : "NONE"}`;
  const text = `${NAME}: ${said}, ${count === 1 ? "1 box" : `${count} boxes`} of ${total} bytes`;
  const hints = [`the tile's address is a multiple of ${aligned} bytes`];
  return askedWith(NAME, firstsOf(fold, shape.length), stepOf, NAME, text, hints);
}

/** The cells of the first box, in order. */
function elementsIn({ shape }: Tile, { box }: Fold): number[] {
  let flats = [0];
  shape.forEach((extent, dim) => {
    let along = [0];
    for (const digit of box.filter((own) => own.dim === dim)) {
      along = along.flatMap((at) => Array.from({ length: digit.extent }, (_, i) => at + i * digit.step));
    }
    along.sort((a, b) => a - b);
    flats = flats.flatMap((flat) => along.map((at) => flat * extent + at));
  });
  return flats;
}

/** The first cell of each box, in the order of their addresses. */
function firstsOf({ rest }: Fold, rank: number): number[][] {
  let firsts = [Array<number>(rank).fill(0)];
  for (const { dim, extent, step } of [...rest].reverse()) {
    firsts = firsts.flatMap((first) =>
      Array.from({ length: extent }, (_, i) => first.map((at, own) => (own === dim ? at + i * step : at))),
    );
  }
  return firsts;
}
