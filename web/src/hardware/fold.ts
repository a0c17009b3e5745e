/** How the elements of a tile, in the order of their addresses, fold into one box of a dense row-major tensor. */

/** `extent` steps of `step` elements along `dim` of the tensor, each `stride` bytes further in the tile. */
export interface Digit {
  readonly dim: number;
  readonly step: number;
  readonly extent: number;
  readonly stride: number;
}

/** Every `step`-th element along `dim` is one of a tensor map's dimensions, of which a box takes `box`. */
export interface Dimension {
  readonly dim: number;
  readonly step: number;
  readonly extent: number;
  /** In bytes. */
  readonly stride: number;
  readonly box: number;
}

/** The digits of the box, those that need a box each, and the map's dimensions; the fastest first. */
export interface Fold {
  readonly box: readonly Digit[];
  readonly rest: readonly Digit[];
  readonly dimensions: readonly Dimension[];
}

/** The tensor: its extents, strides in bytes, and the bytes of an element. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly size: number;
}

const MOST = 256;
const MOST_DIMENSIONS = 5;
const CHUNK = 16;
/** A box starts at a multiple of so many bytes. */
export const ALIGNED = 128;

/** The fold in the fewest boxes, those that start where a box may first; rows are `width` bytes at most, if any. */
export function folded(digits: readonly Digit[], tensor: Tensor, width: number): Fold {
  const sizes = divisors(digits[0]!.extent, width ? Math.min(MOST, width / tensor.size) : MOST);
  const chunks = sizes.filter((size) => (size * tensor.size) % CHUNK === 0);
  const folds = (chunks.length ? chunks : sizes.slice(0, 1)).map((row) => withRows(row, digits, tensor, width));
  const rank = (fold: Fold): number => (fold.rest.every(startsWell) ? 0 : 2 ** 40) + boxesOf(fold);
  return folds.reduce((best, fold) => (rank(fold) < rank(best) ? fold : best));
}

/** How many boxes the tile takes. */
export function boxesOf({ rest }: Fold): number {
  return rest.reduce((product, { extent }) => product * extent, 1);
}

/** The coordinates of an element of the tensor, the innermost first. */
export function coordinatesIn({ dimensions }: Fold, index: readonly number[]): number[] {
  return dimensions.map(({ dim, step, extent }) => {
    const above = dimensions.some((other) => other.dim === dim && other.step > step);
    const along = Math.floor(index[dim]! / step);
    return above ? along % extent : along;
  });
}

function withRows(row: number, digits: readonly Digit[], tensor: Tensor, width: number): Fold {
  const [first, left] = split(digits[0]!, row);
  const box = [first];
  const rest = [...left, ...digits.slice(1)];
  let reach = Math.max(width, row * tensor.size);
  while (rest.length && fits(rest[0]!, reach, box, tensor)) {
    const [taken, others] = partOf(rest.shift()!, reach, box, tensor);
    box.push(taken);
    rest.unshift(...others);
    reach *= taken.extent;
  }
  backToAlignment(box, rest);
  return { box, rest, dimensions: dimensionsOf(box, tensor) };
}

/** The fastest `extent` of a digit, and what is left. */
function split(digit: Digit, extent: number): [Digit, Digit[]] {
  if (extent === digit.extent) return [digit, []];
  const { dim, step, stride } = digit;
  const left = { dim, step: step * extent, extent: digit.extent / extent, stride: stride * extent };
  return [{ ...digit, extent }, [left]];
}

/** Gives back the least that makes every box start where a box may; all but the row, if nothing does. */
function backToAlignment(box: Digit[], rest: Digit[]): void {
  while (box.length > 1 && !rest.every(startsWell)) {
    const last = joined(box.pop()!, rest);
    const parts = divisors(last.extent, Math.min(MOST, last.extent - 1)).map((size) => split(last, size));
    const good = parts.find(([, left]) => left.every(startsWell) && rest.every(startsWell));
    if (!good) {
      rest.unshift(last);
      continue;
    }
    if (good[0].extent > 1) box.push(good[0]);
    rest.unshift(...good[1]);
    return;
  }
}

/** A digit with the first of the rest, where that is what was cut from it. */
function joined(digit: Digit, rest: Digit[]): Digit {
  const [next] = rest;
  const { dim, step, extent, stride } = digit;
  const isCut = next?.dim === dim && next.step === step * extent && next.stride === stride * extent;
  if (!isCut) return digit;
  rest.shift();
  return { ...digit, extent: extent * next.extent };
}

function startsWell({ stride }: Digit): boolean {
  return stride % ALIGNED === 0;
}

/** What one dimension takes of a digit, such that the next can go on if possible, and what is left. */
function partOf(digit: Digit, reach: number, box: readonly Digit[], tensor: Tensor): [Digit, Digit[]] {
  const parts = divisors(digit.extent, MOST)
    .filter((size) => size > 1)
    .map((size) => split(digit, size));
  const goesOn = ([taken, [left]]: [Digit, Digit[]]): boolean =>
    !left || fits(left, reach * taken.extent, [...box, taken], tensor);
  return parts.find(goesOn) ?? parts[0]!;
}

/** Whether a digit can be part of the box. */
function fits(digit: Digit, reach: number, box: readonly Digit[], { shape, strides }: Tensor): boolean {
  const { dim, step, extent, stride } = digit;
  if (stride !== reach || (step > 1 && (strides[dim]! * step) % CHUNK)) return false;
  if (divisors(extent, MOST).length === 1) return false;
  return stepsOf([...box, digit], shape.length).length <= Math.max(MOST_DIMENSIONS, shape.length);
}

/** [dim, step] of every dimension that the map needs. */
function stepsOf(box: readonly Digit[], rank: number): [number, number][] {
  return Array.from({ length: rank }, (_, dim) => dim).flatMap((dim) => {
    const steps = new Set([1, ...box.filter((digit) => digit.dim === dim).map(({ step }) => step)]);
    return [...steps].sort((a, b) => a - b).map((step): [number, number] => [dim, step]);
  });
}

/** The map's dimensions: the box's in its order, then those of which it takes one element. */
function dimensionsOf(box: readonly Digit[], { shape, strides }: Tensor): Dimension[] {
  const needed = stepsOf(box, shape.length);
  const taken = box.map(({ dim, step }): [number, number] => [dim, step]);
  const others = needed
    .filter(([dim, step]) => !box.some((digit) => digit.dim === dim && digit.step === step))
    .sort((a, b) => strides[a[0]]! * a[1] - strides[b[0]]! * b[1]);
  return [...taken, ...others].map(([dim, step], at) => {
    const above = Math.min(...needed.flatMap(([own, other]) => (own === dim && other > step ? [other] : [])));
    const extent = Math.floor((above < Infinity ? above : shape[dim]!) / step);
    return { dim, step, extent, stride: strides[dim]! * step, box: box[at]?.extent ?? 1 };
  });
}

/** The divisors of a number that are not above `most`, the largest first. */
function divisors(number: number, most: number): number[] {
  const found: number[] = [];
  for (let size = Math.floor(Math.min(number, most)); size > 0; size--) if (number % size === 0) found.push(size);
  return found;
}
