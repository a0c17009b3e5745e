/** Element types: a name and a width in bits. */

import { LayoutError } from "./errors";
import { closest } from "./words";

export interface DType {
  readonly name: string;
  readonly bits: number;
}

const NAMES = `128 b128; 64 f64 s64 u64 b64; 32 f32 tf32 xf32 s32 u32 b32; 16 f16 bf16 s16 u16 b16;
  8 e4m3 e5m2 e4m3fnuz e5m2fnuz ue4m3 ue8m0 s8 u8 b8; 6 e2m3 e3m2; 4 e2m1 s4 u4; 1 b1`;
const ALIASES = `f64 float64 double fp64; f32 float32 float fp32; f16 float16 half fp16; bf16 bfloat16;
  e4m3 float8_e4m3fn e4m3fn fp8_e4m3; e5m2 float8_e5m2 fp8_e5m2; e4m3fnuz float8_e4m3fnuz;
  e5m2fnuz float8_e5m2fnuz; ue8m0 float8_e8m0fnu e8m0; s64 int64 i64;
  s32 int32 i32; s16 int16 i16; s8 int8 i8; u64 uint64; u32 uint32; u16 uint16; u8 uint8;
  s4 int4 i4; u4 uint4`;
const SEVERAL: ReadonlyMap<string, string> = new Map([
  ["fp8", "e4m3 or e5m2"],
  ["float8", "e4m3 or e5m2"],
  ["fp6", "e2m3 or e3m2"],
  ["fp4", "e2m1"],
]);

const DTYPES: ReadonlyMap<string, DType> = new Map(
  grouped(NAMES).flatMap(([bits, ...names]) =>
    names.map((name): [string, DType] => [name, { name, bits: Number(bits) }]),
  ),
);

const CALLED: ReadonlyMap<string, string> = new Map(
  grouped(ALIASES).flatMap(([name = "", ...others]) =>
    others.map((other): [string, string] => [other, name]),
  ),
);

function grouped(text: string): string[][] {
  return text.split(";").map((group) => group.trim().split(/\s+/));
}

/** The dtype of that name, or of a usual alias of it. */
export function dtypeOf(name: string): DType {
  const word = name.toLowerCase();
  const dtype = DTYPES.get(CALLED.get(word) ?? word);
  if (dtype) return dtype;
  throw new LayoutError("TW105", `unknown dtype '${name}'`, suggestion(word, name));
}

function suggestion(word: string, name: string): string {
  const several = SEVERAL.get(word);
  if (several) return `${name} is ${several}`;
  const near = closest(word, [...DTYPES.keys(), ...CALLED.keys()]);
  return `${near ? `did you mean ${near}? ` : ""}known: ${[...DTYPES.keys()].join(" ")}`;
}
