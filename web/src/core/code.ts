/** The index as source text in CUDA C++, to be pasted into a kernel. */

import { isKnown } from "./axes";
import { merged, runsOf, type Run } from "./copies";
import { plainExtremes } from "./facts";
import { modulo } from "./integers";
import type { Layout } from "./layout";
import { byCoordinates } from "./orders";
import { leavesOf } from "./shapes";
import { periodOf, type Swizzle } from "./swizzles";
import { print } from "./text";

/** An argument and the digits that are read off it, slowest first; their steps are points on the axes. */
interface Argument {
  readonly name: string;
  readonly size: bigint;
  readonly runs: readonly Run[];
}

/** The place on one axis: how it is found, and what it is then. */
interface Result {
  readonly field: string;
  readonly type: string;
  readonly text: string;
  readonly steps: readonly string[];
}

interface Types {
  readonly bits: bigint;
  readonly signed: string;
  readonly unsigned: string;
  readonly suffix: string;
}

const TYPES: readonly Types[] = [
  { bits: 32n, signed: "int", unsigned: "unsigned", suffix: "u" },
  { bits: 64n, signed: "long long", unsigned: "unsigned long long", suffix: "ull" },
];
const HEAD = "__host__ __device__ __forceinline__ constexpr";
const ADDRESS = "address";

/**
 * A function from one number a mode, and the number of a copy where there are several, to the place of an
 * element; null where 64 bits do not hold the numbers. Arithmetic is unsigned and may wrap; a result that can
 * be negative is converted at the end.
 */
export function cudaIndex(written: Layout): string | null {
  const layout = byCoordinates(written);
  const { start, runs } = merged(runsOf(layout.replica, written.axes.map((axis) => axis.name)));
  const given = argumentsOf(layout, runs, written.axes.map((axis) => axis.name));
  const types = typesFor(layout, given);
  if (!types) return null;

  const results = written.axes.map(({ name }, axis): Result => {
    const constant = (layout.offset[name] ?? 0n) + (start[axis] ?? 0n);
    const terms = given.flatMap((argument) => products(argument, axis));
    const isSwizzled = layout.swizzledAxis?.name === name;
    const outer = layout.outer[name] ?? 0n;
    const text = sum(terms, constant, types.suffix);
    const last = isSwizzled ? sum([[ADDRESS, 1n]], outer, types.suffix) : text;
    const steps = isSwizzled ? swizzled(layout.swizzles, text, types.unsigned) : [];
    const isSigned = endsOn(layout, name).some(([low]) => low < 0n);
    const field = fieldName(name, axis);
    if (!isSigned) return { field, type: types.unsigned, text: last, steps };
    return { field, type: types.signed, text: `(${types.signed})(${last})`, steps };
  });
  const lines = definition(given, results, types.unsigned);
  return [`// ${print(written)}`, ...rangesOf(given), ...lines].join("\n");
}

/** The narrowest types that hold all numbers. */
function typesFor(layout: Layout, given: readonly Argument[]): Types | undefined {
  const sizes = [periodOf(layout.swizzles), ...given.map((argument) => argument.size)];
  const ends = layout.axes.flatMap((axis) => endsOn(layout, axis.name));
  return TYPES.find(
    ({ bits }) => sizes.every((size) => size <= 1n << bits) && ends.every((pair) => fits(pair, bits)),
  );
}

function rangesOf(given: readonly Argument[]): string[] {
  const ranges = given.map(({ name, size }) => `${name} in 0..${size - 1n}`);
  return ranges.length ? [`// ${ranges.join(", ")}`] : [];
}

function definition(given: readonly Argument[], results: readonly Result[], type: string): string[] {
  const [only] = results;
  const isOne = only && results.length === 1;
  const fields = results.map((result) => `${result.type} ${result.field};`).join(" ");
  const list = given.map(({ name }) => `${type} ${name}`).join(", ");
  const texts = results.map(({ text }) => text).join(", ");
  return [
    ...(isOne ? [] : [`struct place_of_t { ${fields} };`]),
    `${HEAD} ${isOne ? only.type : "place_of_t"} place_of(${list})`,
    "{",
    ...results.flatMap(({ steps }) => steps),
    `    return ${isOne ? texts : `place_of_t{${texts}}`};`,
    "}",
  ];
}

function argumentsOf(layout: Layout, copies: readonly Run[], axes: readonly string[]): Argument[] {
  const count = layout.shape.length;
  const names = count <= 3 ? ["i", "j", "k"] : layout.shape.map((_, n) => `i${n}`);
  const runs = runsOf(layout.digits, axes);
  let at = 0;
  const modes = layout.shape.map((mode, n) => ({
    name: names[n]!,
    runs: runs.slice(at, (at += leavesOf(mode).length)),
  }));
  const all = copies.length ? [...modes, { name: "copy", runs: copies }] : modes;
  return all.map((argument) => ({
    ...argument,
    size: argument.runs.reduce((size, run) => size * run.extent, 1n),
  }));
}

/** What the numbers of an axis lie between, before its swizzles and after. */
function endsOn(layout: Layout, axis: string): [bigint, bigint][] {
  const [low, high] = plainExtremes(layout, axis);
  if (layout.swizzledAxis?.name !== axis) return [[low, high]];
  const period = periodOf(layout.swizzles);
  const outer = layout.outer[axis] ?? 0n;
  const block: [bigint, bigint] = [low - modulo(low, period), high - modulo(high, period) + period - 1n];
  return [[low, high], block, [block[0] + outer, block[1] + outer]];
}

function fits([low, high]: readonly [bigint, bigint], width: bigint): boolean {
  return low < 0n ? low >= -(1n << (width - 1n)) && high < 1n << (width - 1n) : high < 1n << width;
}

/** digit * step for each digit of an argument that moves on an axis; digits that go on are read as one. */
function products({ name, size, runs }: Argument, axis: number): [string, bigint][] {
  const found: { place: bigint; extent: bigint; step: bigint }[] = [];
  let place = 1n;
  for (const { extent, step: point } of [...runs].reverse()) {
    const step = point[axis] ?? 0n;
    const last = found[found.length - 1];
    if (extent === 1n) continue;
    if (last && step === last.step * last.extent) last.extent *= extent;
    else found.push({ place, extent, step });
    place *= extent;
  }
  const moving = found.filter((digit) => digit.step).reverse();
  return moving.map(({ place, extent, step }) => [digitText(name, place, extent, size), step]);
}

/** `i >> 3 & 7`: the digit of so many values at a place value. */
function digitText(name: string, place: bigint, extent: bigint, size: bigint): string {
  const isTop = place * extent === size;
  const shifts = isPower(place) && (isTop || isPower(extent));
  const quotient = place === 1n ? "" : shifts ? ` >> ${log2(place)}` : ` / ${place}`;
  const rest = isTop ? "" : isPower(extent) ? ` & ${extent - 1n}` : ` % ${extent}`;
  return name + quotient + rest;
}

/** terms + constant. */
function sum(terms: readonly [string, bigint][], constant: bigint, suffix: string): string {
  const isAlone = terms.length === 1 && terms[0]![1] === 1n && !constant;
  const spelled = terms.map(([text, step]): [boolean, string] => {
    const size = step < 0n ? -step : step;
    const digit = text.includes(" ") && !isAlone ? `(${text})` : text;
    return [step < 0n, size === 1n ? digit : `${digit} * ${literal(size, suffix)}`];
  });
  if (constant || !spelled.length) {
    spelled.push([constant < 0n, literal(constant < 0n ? -constant : constant, suffix)]);
  }
  return spelled.map(([minus, text], i) => (i ? (minus ? " - " : " + ") : minus ? "-" : "") + text).join("");
}

function literal(number: bigint, suffix: string): string {
  return number < 1n << 31n ? `${number}` : `${number}${suffix}`;
}

function swizzled(swizzles: readonly Swizzle[], place: string, type: string): string[] {
  const acting = swizzles.filter((swizzle) => swizzle.bits).reverse();
  return [
    `    ${type} ${ADDRESS} = ${place};`,
    ...acting.map(({ bits, base, shift }) => {
      const mask = ((1n << BigInt(bits)) - 1n) << BigInt(shift > 0 ? base : base - shift);
      const moved = `${ADDRESS} ${shift > 0 ? ">>" : "<<"} ${Math.abs(shift)}`;
      return `    ${ADDRESS} ^= ${moved} & 0x${mask.toString(16)};`;
    }),
  ];
}

/** A name that is no word of C++: those of known axes are none, and others are marked. */
function fieldName(axis: string, position: number): string {
  if (isKnown(axis)) return axis;
  return /^[A-Za-z0-9_]+$/.test(axis) ? `at_${axis}` : `axis_${position}`;
}

function isPower(number: bigint): boolean {
  return (number & (number - 1n)) === 0n;
}

function log2(power: bigint): number {
  return power.toString(2).length - 1;
}
