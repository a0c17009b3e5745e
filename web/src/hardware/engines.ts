/** What the instructions of wgmma and tcgen05 take of an operand in shared memory: rows, K, majors and modes. */

import { LayoutError, type DType } from "./kit";

/** What one instruction of a product takes of one operand, of one CTA. */
export interface Intake {
  readonly isWgmma: boolean;
  /** The word for one of them, and for the product with its kind. */
  readonly instruction: string;
  readonly product: string;
  /** The rows that one may read, the most first. */
  readonly rows: readonly number[];
  /** The elements along K that one reads. */
  readonly deep: number;
  readonly ctas: number;
  /** Whether LBO is an address: K is 48 bytes then. */
  readonly isAbsolute: boolean;
  /** The modes in which elements that follow one another along K, or down the rows, are read; the widest first. */
  modes(isK: boolean): readonly Mode[];
  /** The product of which so many rows are read here, such as m128nNk16. */
  shape(rows: number): string;
}

/** A swizzle mode: bytes of a row of its atom, rows, and bytes that stay together. */
export interface Mode {
  readonly name: string;
  readonly width: number;
  readonly rows: number;
  readonly keeps: number;
  /** What the descriptors of wgmma and of tcgen05 hold. */
  readonly codes: readonly [number, number];
}

interface Words {
  readonly kind?: string;
  readonly m?: number;
  readonly n?: number;
  readonly k?: number;
  readonly cta_group?: number;
  readonly sparse?: boolean;
  readonly ws?: boolean;
}

interface Kind {
  readonly name: string;
  readonly types: RegExp;
  readonly k: number;
}

export const CHUNK = 16;
const MODES: readonly Mode[] = [
  { name: "128B", width: 128, rows: 8, keeps: CHUNK, codes: [1, 2] },
  { name: "64B", width: 64, rows: 8, keeps: CHUNK, codes: [2, 4] },
  { name: "32B", width: 32, rows: 8, keeps: CHUNK, codes: [3, 6] },
  { name: "none", width: CHUNK, rows: 8, keeps: CHUNK, codes: [0, 0] },
];
/** The one mode of 32 bits down the rows. */
const IN_32_BYTES: readonly Mode[] = [{ name: "128B_ATOM_32B", width: 128, rows: 4, keeps: 32, codes: [0, 1] }];

const OF_WGMMA = /^(b?f16|tf32|e[45]m[23]|[su]8|b1)$/;
const FLOATS = /^e(4m3|5m2|2m3|3m2|2m1)$/;
const KINDS: readonly Kind[] = [
  { name: "f16", types: /^b?f16$/, k: 16 },
  { name: "tf32", types: /^tf32$/, k: 8 },
  { name: "mxf4", types: /^e2m1$/, k: 64 },
  { name: "mxf4nvf4", types: /^e2m1$/, k: 64 },
  { name: "f8f6f4", types: FLOATS, k: 32 },
  { name: "mxf8f6f4", types: FLOATS, k: 32 },
  { name: "i8", types: /^[su]8$/, k: 32 },
];
const DEEP_K = 96;
const NUMBER = /^(m|n|k|cta_group)=?(\d{1,9})$/;
const ACCESS = /^descriptor\.([AB])(?::(.*))?$/;
const HINT = "descriptor.A and descriptor.B are wgmma's; tcgen05's are descriptor.A:tcgen05, descriptor.B:tcgen05:mxf4:k96";

/** What an access such as `descriptor.B:tcgen05:n64` asks of a type, once it is needed; words that are none are refused. */
export function questionOf(access: string, dtype: DType): () => Intake {
  const [isOne, operand, rest] = ACCESS.exec(access) ?? [];
  if (!isOne) throw unknown(`'${access}' is no access`, HINT);
  const [engine, ...words] = (rest ?? "wgmma").split(":");
  if (engine !== "wgmma" && engine !== "tcgen05") {
    throw unknown(`'${engine}' is no engine with descriptors`, "known: wgmma tcgen05");
  }
  const said: Words = words.reduce((before, word) => {
    const more = engine === "wgmma" ? wordOfWgmma(word) : wordOf(word);
    for (const name in more) if (name in before) throw unknown(`${name} is given twice`, "say it once");
    return { ...before, ...more };
  }, {});
  const isA = operand === "A";
  if (engine === "wgmma") return () => ofWgmma(dtype, isA, said);
  const kind = KINDS.find(({ name, types }) => (said.kind ? name === said.kind : types.test(dtype.name)));
  const group = said.cta_group ?? 1;
  if (kind && group !== 1 && group !== 2) throw unknown(`there is no cta_group ${group}`, "a product is of 1 or 2 CTAs");
  return () => ofTcgen05(dtype, isA, said, kind);
}

function unknown(message: string, hint: string): LayoutError {
  return new LayoutError("TW601", message, hint);
}

function no(why: string): LayoutError {
  return new LayoutError("", why);
}

function wordOfWgmma(word: string): Words {
  const [, name, number] = NUMBER.exec(word) ?? [];
  if (name !== "n") throw unknown(`wgmma takes no '${word}'`, "it takes n");
  return { n: Number(number) };
}

function wordOf(word: string): Words {
  const [, name, number] = NUMBER.exec(word) ?? [];
  if (name) return { [name]: Number(number) };
  if (word === "sparse" || word === "ws") return { [word]: true };
  const kind = word.replace("kind=", "");
  const named = KINDS.find(({ name: own }) => own === kind.toLowerCase());
  if (named) return { kind: named.name };
  throw unknown(`'${kind}' is no kind of tcgen05.mma`, "known: f16 tf32 f8f6f4 i8 mxf8f6f4 mxf4 mxf4nvf4");
}

function ofWgmma({ bits, name }: DType, isA: boolean, { n }: Words): Intake {
  if (!OF_WGMMA.test(name)) throw no(`wgmma does not multiply ${name}`);
  const sizes = every(8, 256).filter((size) => size <= 32 || size % 16 === 0 || !/[su]8|b1/.test(name));
  if (n !== undefined && !sizes.includes(n)) throw no(`wgmma has no N = ${n} of ${name}`);
  return {
    isWgmma: true,
    instruction: "wgmma",
    product: "wgmma",
    rows: isA ? [64] : n === undefined ? sizes : [n],
    deep: 256 / bits,
    ctas: 1,
    isAbsolute: false,
    modes: (isK) => (isK || name.endsWith("f16") ? MODES : []),
    shape: () => "",
  };
}

function ofTcgen05({ bits, name }: DType, isA: boolean, said: Words, kind: Kind | undefined): Intake {
  if (!kind?.types.test(name)) throw no(`${kind ? `kind::${kind.name}` : "tcgen05"} does not multiply ${name}`);
  const { m, n, cta_group: ctas = 1, sparse = false, ws = false } = said;
  const isPacked = kind.name.startsWith("mxf4");
  const dense = sparse ? 2 * kind.k : kind.k;
  const k = said.k ?? dense;
  if (k !== dense && (k !== DEEP_K || !isPacked || sparse)) throw no(`kind::${kind.name} has no K = ${k}`);
  const [legalM, legalN] = shapesOf(kind, ctas, sparse, ws, k);
  for (const [letter, size, legal] of [["M", m, legalM], ["N", n, legalN]] as const) {
    if (!legal.length || (size !== undefined && !legal.includes(size))) {
      throw no(`kind::${kind.name} has no ${letter} = ${size ?? "any"} of cta_group ${ctas}`);
    }
  }
  if (bits < 8 && !isPacked) {
    throw no(`an element of ${name} has a byte to itself in shared memory, and ${bits} bits here`);
  }
  const deep = sparse && isA ? k / 2 : k;
  const depth = (deep * bits) / 8;
  const asked = isA ? m : n;
  const product = `tcgen05.mma of kind::${kind.name}`;
  const alongK = depth === 48 ? MODES.slice(0, 1) : MODES.filter(({ width }) => width === CHUNK || depth <= width);
  const alongRows = bits < 8 ? [] : bits === 32 ? IN_32_BYTES : MODES;
  return {
    isWgmma: false,
    instruction: "tcgen05.mma",
    product,
    rows: (asked === undefined ? (isA ? legalM : legalN) : [asked]).map((size) => size / ctas),
    deep,
    ctas,
    isAbsolute: depth === 48,
    modes: (isK) => (isK ? alongK : alongRows),
    shape: (rows) => (isA ? `m${rows * ctas}n${n ?? "N"}k${k}` : `m${m ?? "M"}n${rows * ctas}k${k}`),
  };
}

/** The legal M and N, the largest first; none where there is no such product. */
function shapesOf({ name }: Kind, ctas: number, sparse: boolean, ws: boolean, k: number): [number[], number[]] {
  const isScaled = name.startsWith("mx");
  if (ws) return ctas === 2 || isScaled ? [[], []] : [[128, 64, 32], sparse ? [128, 64] : [256, 128, 64]];
  const integers = name === "i8";
  if (ctas === 2) return [isScaled && (sparse || k === DEEP_K) ? [256] : [256, 128], every(integers ? 32 : 16, 256)];
  const all = every(8, 256).filter((size) => size <= 32 || size % 16 === 0 || !integers);
  return [isScaled ? [128] : [128, 64], all];
}

/** The multiples of a step, the largest first. */
function every(step: number, most: number): number[] {
  return Array.from({ length: most / step }, (_, i) => most - step * i);
}
