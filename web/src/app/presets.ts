/** Layouts worth looking at: the seven pictures of the chapter on data layouts, and others beyond. */

import type { State } from "./state";

/** What a preset sets; all else is as it was. */
export type Setting = Pick<State, "e" | "e2" | "d" | "a" | "s" | "w">;

export interface Choice {
  name: string;
  options: readonly string[];
}

export interface Preset {
  id: string;
  title: string;
  choices: readonly Choice[];
  story: (chosen: readonly string[]) => string;
  setting: (chosen: readonly string[]) => Setting;
}

const MESH: Readonly<Record<string, readonly [string, string]>> = {
  "fully sharded": [
    "S[(2, 4, 2, 4) : (1@gpuid_y, 4@m, 1@gpuid_x, 1@m)]",
    "Rows are split over gpuid_y and columns over gpuid_x: each of the four devices has a quarter, once.",
  ],
  "shard + replica": [
    "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]",
    "Rows are split over gpuid_y; R puts the same rows on both devices along gpuid_x. Point at one, and its copy lights too.",
  ],
  "shard + offset": [
    "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + 1@gpuid_x",
    "The same split with an offset in place of the copies: everything is on the second column of devices.",
  ],
};

const SCALES: Readonly<Record<string, readonly [string, string]>> = {
  packing: [
    "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)]",
    "128 rows of four scales in 32 lanes of tensor memory: row m is in lane m mod 32, and m // 32 picks four columns.",
  ],
  broadcast: [
    "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]",
    "The same, and R writes it down four times, 32 lanes apart, so that each warp finds a copy in its own window.",
  ],
};

const PATHS: Readonly<Record<string, readonly [string, string]>> = {
  D: [
    "tcgen05.D(f32, m=128, n=32)",
    "M = 128: row m is in lane m of tensor memory, column n in its column n, and each of four warps reaches 32 lanes.",
  ],
  F: [
    "tcgen05.D(f32, m=64, n=32)",
    "M = 64: sixteen rows in the first half of each warp's lanes; the other half has room for another tile.",
  ],
  B: [
    "tcgen05.D(f32, m=128, n=32, cta_group=2)",
    "M = 128 of two CTAs: each has 64 rows, with the columns from 16 on 64 lanes below the others.",
  ],
};

const SWIZZLES: Readonly<Record<string, number>> = { "128 B": 3, "64 B": 2, "32 B": 1, "16 B interleaved": 0 };
const WIDTHS: Readonly<Record<string, number>> = { e4m3: 1, bf16: 2, f32: 4, f64: 8 };

export const PRESETS: readonly Preset[] = [
  one(
    "tiles",
    "Tiled index",
    "An 8 x 8 matrix in tiles of 2 x 4, each in one piece: row and column are cut in two, and every part has a stride of its own.",
    { e: "S[(4, 2, 2, 4) : (16, 4, 8, 1)]", s: "8,8" },
  ),
  one(
    "lanes",
    "Lanes and registers",
    "Strides need not lead through memory: rows and pairs of columns choose the lane, the last digit its register.",
    { e: "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", s: "8,8" },
  ),
  several("mesh", "A mesh of four", "placement", MESH, (e) => ({ e, s: "8,8" })),
  several("scales", "Scales in tensor memory", "step", SCALES, (e) => ({ e, s: "128,4" })),
  one(
    "conflict",
    "A conflict and its cure",
    "Eight lanes read a column of 16-byte elements. On the left all are in the same banks, and wait for one another; XOR with the row spreads them.",
    { e: "S[(8, 8) : (8, 1)]", e2: "Swizzle<3,0,3> o S[(8, 8) : (8, 1)]", d: "b128", a: "col:16B" },
  ),
  {
    id: "swizzle",
    title: "SWIZZLE_128B, step by step",
    choices: [{ name: "tile", options: ["swizzled", "plain"] }],
    story: ([tile]) =>
      tile === "plain"
        ? "The tile without its swizzle: a column of 16-byte chunks lies in four banks, and eight lanes take eight turns."
        : "A row of 64 bf16 is 128 bytes, a whole line of banks. Chunk c of row r is stored at c XOR r: step, and see each column meet every bank once.",
    setting: ([tile]) => ({
      e: `${tile === "plain" ? "" : "Swizzle<3,3,3> o "}S[(8, 64) : (64, 1)]`,
      d: "bf16",
      a: "col:16B",
    }),
  },
  {
    id: "atoms",
    title: "Atoms of the swizzle modes",
    choices: [
      { name: "mode", options: Object.keys(SWIZZLES) },
      { name: "dtype", options: Object.keys(WIDTHS) },
    ],
    story: ([mode]) =>
      mode === "16 B interleaved"
        ? "Without a swizzle the block is 8 rows of 16 bytes, one behind the other: what tensor cores call a core matrix."
        : `The block that repeats under this mode: 8 rows of ${mode}, in which 16-byte chunks change places.`,
    setting: ([mode = "", dtype = ""]) => atom(mode, dtype),
  },
  one(
    "accumulator",
    "Accumulator of wgmma",
    "Who holds what of D, 64 x 64, after a wgmma: 128 threads of a warpgroup, 32 registers each.",
    { e: "wgmma.D(f32, n=64)", d: "f32" },
  ),
  several("tmem", "Accumulator in tensor memory", "data path", PATHS, (e) => ({ e, d: "f32" })),
  one(
    "operand",
    "Operand of wgmma",
    "A tile of 128 x 64 bf16 as wgmma reads it: 16 swizzle atoms of 8 rows, one below the other, each permuted alike.",
    { e: "wgmma.smem(A, major=k, mode=128B, dtype=bf16, rows=128, k=64)", d: "bf16" },
  ),
  {
    id: "descriptor",
    title: "Matrix descriptors",
    choices: [{ name: "engine", options: ["wgmma", "tcgen05"] }],
    story: () =>
      "B of 16 x 64 for four instructions. Each is given 64 bits that say where its part begins and how the rest lies: step, and see 32 bytes added to the start, and nothing else.",
    setting: ([engine]) => ({
      e: "Swizzle<3,3,3> o S[(16, 64) : (64, 1)]",
      d: "bf16",
      a: `descriptor.B${engine === "wgmma" ? "" : ":tcgen05"}`,
    }),
  },
  one(
    "boxes",
    "Boxes of TMA",
    "Rows of 128 bf16 in two halves of 128 bytes, as wide as the swizzle; between the halves there is room for another tile. So TMA takes two boxes: step, and see where each lands.",
    { e: "Swizzle<3,3,3> o S[(16, (2, 64)) : (64, (2048, 1))]", d: "bf16", a: "boxes" },
  ),
  {
    id: "mma",
    title: "Fragments of mma.sync",
    choices: [{ name: "operand", options: ["A", "B", "D"] }],
    story: ([operand]) =>
      operand === "A"
        ? "A of m16n8k16: each lane holds eight halves, in pairs, from two rows and two groups of columns."
        : operand === "B"
          ? "B of m16n8k16, drawn [N, K]: each lane holds four halves of one column of the product."
          : "D of m16n8k16: each lane holds two neighbours of one row, and two of the row eight below.",
    setting: ([operand = "A"]) => ({
      e: `mma.${operand}(m16n8k16, dtype=${operand === "D" ? "f32" : "f16"})`,
      d: operand === "D" ? "f32" : "f16",
    }),
  },
  {
    id: "ldmatrix",
    title: "ldmatrix.x4",
    choices: [{ name: "tile", options: ["swizzled", "plain"] }],
    story: ([tile]) =>
      tile === "plain"
        ? "Four 8 x 8 matrices out of a plain tile: the eight rows of each begin in the same banks, and every matrix costs eight wavefronts."
        : "Four 8 x 8 matrices at once: each lane says where one row of 16 bytes begins. Under the swizzle eight rows are in eight groups of banks.",
    setting: ([tile]) => ({
      e: `${tile === "plain" ? "" : "Swizzle<3,3,3> o "}S[(16, 64) : (64, 1)]`,
      d: "f16",
      a: "ldmatrix.x4",
    }),
  },
  one(
    "transpose",
    "What a transpose moves",
    "Row-major beside column-major. Point at an element to see both of its places: only those of the diagonal are one.",
    { e: "S[(8, 8) : (8, 1)]", e2: "S[(8, 8) : (1, 8)]" },
  ),
  one(
    "pitch",
    "Padding against a swizzle",
    "Two ways to read a column of 32 x 32 floats at full speed: one unused word at the end of each row, or an XOR that wastes nothing.",
    {
      e: "S[(32, 32) : (33, 1)]",
      e2: "Swizzle<5,0,5> o S[(32, 32) : (32, 1)]",
      d: "f32",
      a: "col:4B",
    },
  ),
];

/** The name of a preset with its choices, as the address has it: `atoms.64_B.bf16`. */
export function nameOf(preset: Preset, chosen: readonly string[]): string {
  return [preset.id, ...chosen.map(wordOf)].join(".");
}

function wordOf(option: string): string {
  return option.replace(/[ .]/g, "_");
}

/** The preset of a name, what is chosen, and what is said but no choice of it; what is not said is the first option. */
export function presetOf(name: string): { preset: Preset; chosen: string[]; unknown: string[] } | null {
  const [id, ...words] = name.split(".");
  const preset = PRESETS.find((known) => known.id === id);
  if (!preset) return null;
  const said = words.map((word, at) => preset.choices[at]?.options.find((option) => wordOf(option) === word));
  const chosen = preset.choices.map(({ options }, at) => said[at] ?? options[0] ?? "");
  return { preset, chosen, unknown: words.filter((_, at) => said[at] === undefined) };
}

function one(id: string, title: string, story: string, setting: Setting): Preset {
  return { id, title, choices: [], story: () => story, setting: () => setting };
}

function several(
  id: string,
  title: string,
  name: string,
  options: Readonly<Record<string, readonly [string, string]>>,
  setting: (e: string) => Setting,
): Preset {
  const of = (option: string | undefined): readonly [string, string] => options[option ?? ""] ?? ["", ""];
  return {
    id,
    title,
    choices: [{ name, options: Object.keys(options) }],
    story: ([option]) => of(option)[1],
    setting: ([option]) => setting(of(option)[0]),
  };
}

function atom(mode: string, dtype: string): Setting {
  const bits = SWIZZLES[mode] ?? 0;
  const chunk = 16 / (WIDTHS[dtype] ?? 2);
  const row = chunk << bits;
  const swizzle = bits ? `Swizzle<${bits},${Math.log2(chunk)},3> o ` : "";
  return { e: `${swizzle}S[(8, ${row}) : (${row}, 1)]`, d: dtype };
}
