/** The index as source text in CUDA C++, to be pasted into a kernel. */

import { isKnown } from "./axes";
import { merged, runsOf, type Run } from "./copies";
import { plainExtremes } from "./facts";
import { modulo } from "./integers";
import type { Layout } from "./layout";
import { leavesOf } from "./shapes";
import { periodOf, type Swizzle } from "./swizzles";
import { print } from "./text";

/** An argument and the digits that are read off it, slowest first; their steps are points on the axes. */
interface Argument {
  readonly name: string;
  readonly size: bigint;
  readonly runs: readonly Run[];
}

const TYPES = new Map([
  [32n, { signed: "int", unsigned: "unsigned", suffix: "u" }],
  [64n, { signed: "long long", unsigned: "unsigned long long", suffix: "ull" }],
]);
const HEAD = "__host__ __device__ __forceinline__ constexpr";
const ADDRESS = "address";

/**
 * A function from one number a mode, and the number of a copy where there are several, to the place of an
 * element; null where 64 bits do not hold the numbers. Arithmetic is unsigned and may wrap; a result that can
 * be negative is converted at the end.
 */
export function cudaIndex(layout: Layout): string | null {
  const names = layout.axes.map((axis) => axis.name);
  const { start, runs } = merged(runsOf(layout.replica, names));
  const given = argumentsOf(layout, runs);
  const ends = names.map((name) => endsOn(layout, name));
  const bits = [...TYPES.keys()].find(
    (width) =>
      periodOf(layout.swizzles) <= 1n << width &&
      given.every(({ size }) => size <= 1n << width) &&
      ends.flat().every((end) => fits(end, width)),
  );
  const types = TYPES.get(bits ?? 0n);
  if (!types) return null;

  const results = names.map((name, i) => {
    const constant = (layout.offset[name] ?? 0n) + (start[i] ?? 0n);
    return sum(given.flatMap((argument) => products(argument, i)), constant, types.suffix);
  });
  const isSigned = ends.map((pairs) => pairs.some(([low]) => low < 0n));
  const at = names.indexOf(layout.swizzledAxis?.name ?? "");
  const steps = at < 0 ? [] : swizzled(layout.swizzles, results[at]!, types.unsigned);
  if (at >= 0) results[at] = sum([[ADDRESS, 1n]], layout.outer[names[at]!] ?? 0n, types.suffix);

  const typeOf = (i: number): string => (isSigned[i] ? types.signed : types.unsigned);
  const typed = results.map((result, i) => (isSigned[i] ? `(${typeOf(i)})(${result})` : result));
  const isOne = names.length === 1;
  const fields = names.map((name, i) => `${typeOf(i)} ${fieldName(name, i)};`).join(" ");
  const list = given.map(({ name }) => `${types.unsigned} ${name}`).join(", ");
  return [
    `// ${print(layout)}`,
    ...(given.length ? [`// ${given.map(({ name, size }) => `${name} in 0..${size - 1n}`).join(", ")}`] : []),
    ...(isOne ? [] : [`struct place_of_t { ${fields} };`]),
    `${HEAD} ${isOne ? typeOf(0) : "place_of_t"} place_of(${list})`,
    "{",
    ...steps,
    `    return ${isOne ? typed[0] : `place_of_t{${typed.join(", ")}}`};`,
    "}",
  ].join("\n");
}

function argumentsOf(layout: Layout, copies: readonly Run[]): Argument[] {
  const count = layout.shape.length;
  const names = count <= 3 ? ["i", "j", "k"] : layout.shape.map((_, n) => `i${n}`);
  const runs = runsOf(layout.digits, layout.axes.map((axis) => axis.name));
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
