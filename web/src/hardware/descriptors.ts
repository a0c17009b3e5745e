/**
 * How wgmma reads a tile: matrix descriptors, whose LBO and SBO are read off two elements and proven on all.
 *
 * Elements follow one another along K (K-major) or down the rows (MN-major); across that they go in groups of
 * eight, W bytes apart. Sw being the permutation of a mode of W bytes, and b the base offset, an element that is
 * x bytes from the start on lies at Sw(x - 128 b) + 128 b.
 */

import { LayoutError, Stored, extentsOf, type Asked, type DType, type Encoded, type Layout, type Step } from "./kit";
import { askedWith, refusedAsked } from "./asked";

/** A tile as an operand [rows, K] in cells, each a byte at least; `k` cells are one instruction's. */
interface Operand {
  readonly rows: number;
  readonly columns: number;
  readonly k: number;
  /** Bytes of a cell, and elements in one: 8 of b1. */
  readonly size: number;
  readonly many: number;
  /** Where the swizzle's pattern begins. */
  readonly pattern: number;
  readonly bytes: Int32Array;
}

/** How the cells of one instruction of n rows lie. */
interface Form {
  readonly isK: boolean;
  readonly n: number;
  /** W; 16 where nothing is swizzled. */
  readonly width: number;
}

/** In bytes; null where a field is not read. */
interface Descriptor {
  readonly start: number;
  readonly lbo: number | null;
  readonly sbo: number | null;
  readonly offset: number;
}

interface Part extends Descriptor {
  readonly top: number;
  readonly left: number;
}

const CHUNK = 16;
const ROWS = 8;
const UNIT = 128;
const SHARED_END = 228 * 1024;
/** Of a mode by its bytes of a row, the widest first. */
const CODES: ReadonlyMap<number, number> = new Map([[128, 1], [64, 2], [32, 3], [CHUNK, 0]]);
const TYPES = /^(b?f16|tf32|e[45]m[23]|[su]8|b1)$/;

/** The descriptors of a tile as operand A or B; no steps where none reads it. */
export function descriptorsAsked(layout: Layout, access: string, dtype: DType, base: number): Asked {
  try {
    const least = access.endsWith("A") ? 64 : ROWS;
    const operand = operandOf(layout, dtype, base, least);
    for (const form of formsOf(operand, dtype, least)) {
      const parts = partsOf(operand, form);
      if (parts) return told(access, operand, form, parts, dtype);
    }
    const [first = 0, next = 0] = operand.bytes;
    const steps = `along K by ${next - first} bytes, down the rows by ${operand.bytes[operand.columns]! - first}`;
    throw new LayoutError("", `no mode, LBO and SBO read every element where it is: from the first ${steps}`);
  } catch (no) {
    if (!(no instanceof LayoutError)) throw no;
    return refusedAsked(access, no.message, "tilewise match says what is nearest");
  }
}

function operandOf(layout: Layout, dtype: DType, base: number, least: number): Operand {
  const { bits, name } = dtype;
  if (!TYPES.test(name)) throw new LayoutError("", `wgmma does not multiply ${name}`);
  const stored = new Stored(layout, dtype, base);
  const [rows, columns, ...more] = extentsOf(layout.shape).map(Number);
  const deep = 256 / bits;
  if (!rows || !columns || more.length || rows % least || columns % deep) {
    throw new LayoutError("", `the tile is no whole number of wgmma, which take ${least} x ${deep} elements`);
  }
  const many = Math.max(1, 8 / bits);
  const bytes = bytesOf(stored, many);
  const outer = Number(layout.outer[layout.swizzledAxis?.name ?? ""] ?? 0n);
  const size = Math.max(8, bits) / 8;
  return { rows, columns: columns / many, k: deep / many, size, many, pattern: base + (outer * bits) / 8, bytes };
}

/** The byte of every cell, each its own, and inside shared memory. */
function bytesOf(stored: Stored, many: number): Int32Array {
  const bytes = new Int32Array(stored.size / many);
  const taken = new Uint8Array(SHARED_END);
  const last = SHARED_END - (stored.bits * many) / 8;
  for (let flat = 0; flat < stored.size; flat++) {
    const at = stored.at(flat);
    const byte = (at * stored.unit) / 8;
    const inside = flat % many;
    const isOwn = inside ? at === stored.at(flat - 1) + 1 : byte >= 0 && byte <= last && byte % 1 === 0 && !taken[byte];
    if (!isOwn) throw new LayoutError("", `element ${flat} has no byte of its own in shared memory, at ${byte}`);
    if (inside) continue;
    taken[byte] = 1;
    bytes[flat / many] = byte;
  }
  return bytes;
}

/** Every form that may be: the most rows of one instruction first, then the widest mode. */
function* formsOf({ rows, columns, bytes, size }: Operand, { name }: DType, least: number): Generator<Form> {
  const majors = [bytes[1]! - bytes[0]! === size, name.endsWith("f16") && bytes[columns]! - bytes[0]! === size];
  const integers = /[su]8|b1/.test(name);
  for (let n = least === ROWS ? 256 : least; n >= least; n -= ROWS) {
    if (rows % n || (integers && n > 32 && n % 16)) continue;
    for (const width of CODES.keys()) {
      for (const at of [0, 1]) if (majors[at]) yield { isK: !at, n, width };
    }
  }
}

/** The descriptor of every instruction, with the same LBO and SBO in all; null where one is not read. */
function partsOf(operand: Operand, form: Form): Part[] | null {
  const parts: Part[] = [];
  for (let top = 0; top < operand.rows; top += form.n) {
    for (let left = 0; left < operand.columns; left += operand.k) {
      const found = descriptorOf(operand, form, top, left);
      const first = parts[0] ?? found;
      if (!found || found.lbo !== first!.lbo || found.sbo !== first!.sbo) return null;
      parts.push({ ...found, top, left });
    }
  }
  return parts;
}

/** The descriptor that reads every element of the part at (top, left) where it is. */
function descriptorOf(operand: Operand, form: Form, top: number, left: number): Descriptor | null {
  const { bytes, columns, size, k } = operand;
  const { isK, n, width } = form;
  const together = CHUNK / size;
  const wide = (width === CHUNK ? 1 : width / CHUNK) * together;
  const [deep, long] = isK ? [n, k] : [k, n];
  const swizzled = (byte: number): number => byte ^ ((byte >> 3) & (width - CHUNK));
  const at = (across: number, along: number): number =>
    bytes[isK ? (top + across) * columns + left + along : (top + along) * columns + left + across]!;
  for (const offset of offsetsOf(operand.pattern, width)) {
    const moved = UNIT * offset;
    const start = swizzled(at(0, 0) - moved) + moved;
    const next = wide < long ? swizzled(at(0, wide) - moved) + moved - start : null;
    const far = ROWS < deep ? swizzled(at(ROWS, 0) - moved) + moved - start : null;
    if ([start, next ?? 0, far ?? 0].some((it) => it % CHUNK || it < 0 || it >= 1 << 18)) continue;
    const isRead = (): boolean => {
      for (let along = 0; along < long; along++) {
        const x = start - moved + Math.floor(along / wide) * (next ?? 0) + (along % wide) * size;
        for (let across = 0; across < deep; across++) {
          const byte = x + Math.floor(across / ROWS) * (far ?? 0) + (across % ROWS) * width;
          if (swizzled(byte) + moved !== at(across, along)) return false;
        }
      }
      return true;
    };
    const fields = isK || width > CHUNK ? { lbo: next, sbo: far } : { lbo: far, sbo: next };
    if (isRead()) return { start, offset, ...fields };
  }
  return null;
}

/** The base offsets to try, that of the pattern's start first. */
function offsetsOf(pattern: number, width: number): number[] {
  if (width === CHUNK) return [0];
  const all = [...Array(width / CHUNK).keys()];
  return pattern % UNIT || pattern % (ROWS * width) === 0 ? all : [(pattern / UNIT) % 8, ...all];
}

// -- in words ------------------------------------------------------------------------------------------

function told(access: string, operand: Operand, form: Form, parts: readonly Part[], dtype: DType): Asked {
  const { many, k, columns } = operand;
  const { isK, n, width } = form;
  const [first] = parts as [Part];
  const stepOf = (part: Part, number: number): Step => {
    const { top, start } = part;
    const [from, deep] = [part.left * many, k * many];
    const flat = (i: number): number => (top + Math.floor(i / deep)) * columns * many + from + (i % deep);
    return {
      title: `wgmma ${number + 1} of ${parts.length}: rows ${top}..${top + n - 1}, k ${from}..${from + deep - 1}`,
      elements: Array.from({ length: n * deep }, (_, i) => flat(i)),
      lanes: [],
      cost: null,
      copies: null,
      note: `start + ${start - first.start} bytes`,
      encoded: encodedOf(form, part, dtype),
    };
  };
  const said = (bytes: number | null): string => (bytes === null ? "not read" : `${bytes} bytes`);
  const [how, aligned] = width > CHUNK ? [`${width}B mode`, ROWS * width] : ["no swizzle", CHUNK];
  const strides = `LBO ${said(first.lbo)}, SBO ${said(first.sbo)}, ${parts.length} wgmma`;
  const offset = first.offset ? `, or it has base offset ${first.offset} as here` : "";
  const text = `${access}: ${how}, ${isK ? "K" : "MN"}-major, ${strides}`;
  const hint = `the tile's address is a multiple of ${aligned} bytes${offset}`;
  return askedWith(access, parts, stepOf, "wgmma", text, hint);
}

/** The 64 bits, with what each field says. */
function encodedOf({ isK, n, width }: Form, { start, lbo, sbo, offset }: Descriptor, { bits }: DType): Encoded {
  const isSwizzled = width > CHUNK;
  const long = (width * 8) / bits;
  const rest = (offset * UNIT) % (ROWS * width);
  const eight = "from the first 8 of K to the next 8";
  const lboWords = isK
    ? `from the first 16 bytes of K (${UNIT / bits} elements) to the next 16`
    : isSwizzled
      ? `from the first ${long} rows (${width} bytes) to the next ${long}`
      : eight;
  const sboWords = !isK && isSwizzled ? eight : `from the first 8 rows${isK ? "" : " (16 bytes)"} to the next 8`;
  const noLbo = isK
    ? "not read in this mode and major; 1 is written by custom"
    : `not read: all ${n} rows lie in one atom of ${long}`;
  const noSbo = "not read: there are no more than 8 rows";
  const pattern = `the swizzle pattern begins${rest ? ` ${rest} bytes past` : " at"} a multiple of ${ROWS * width}`;
  const mode = `${width}B: Swizzle<${Math.log2(width) - 4},4,3> on byte addresses`;
  const nothing = "nothing is swizzled";
  const fields = (
    [
      ["start address", 0, 13, start / CHUNK, `byte ${start}, in units of 16`],
      ["LBO", 16, 29, (lbo ?? CHUNK) / CHUNK, lbo === null ? noLbo : `${lbo} bytes ${lboWords}`],
      ["SBO", 32, 45, (sbo ?? 0) / CHUNK, sbo === null ? noSbo : `${sbo} bytes ${sboWords}`],
      ["base offset", 49, 51, offset, isSwizzled ? pattern : `not read: ${nothing}`],
      ["mode", 62, 63, CODES.get(width)!, isSwizzled ? mode : `none: ${nothing}`],
    ] as const
  ).map(([name, low, high, held, words]) => ({ name, low, high, held, words }));
  const value = fields.reduce((sum, { low, held }) => sum | (BigInt(held) << BigInt(low)), 0n);
  return { name: "matrix descriptor", width: 64, value: `0x${value.toString(16).padStart(16, "0")}`, fields };
}
