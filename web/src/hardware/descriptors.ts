/**
 * How wgmma or tcgen05 reads a tile: descriptors, whose LBO and SBO are read off two elements and proven on all.
 *
 * Elements follow one another along K (K-major) or down the rows (MN-major); across that they go in groups of
 * eight, W bytes apart. Sw being the permutation of a mode of W bytes, and b the base offset, an element that is
 * x bytes from the start on lies at Sw(x - 128 b) + 128 b.
 */

import { LayoutError, Stored, extentsOf, type Asked, type DType, type Encoded, type Layout, type Step } from "./kit";
import { askedWith, refusedAsked } from "./asked";
import { CHUNK, questionOf, type Intake, type Mode } from "./engines";

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
  readonly intake: Intake;
}

/** How the cells of one instruction of n rows lie. */
interface Form {
  readonly isK: boolean;
  readonly n: number;
  readonly mode: Mode;
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

const UNIT = 128;
const SHARED_END = 228 * 1024;

/** The descriptors of a tile as operand A or B; no steps where none reads it. */
export function descriptorsAsked(layout: Layout, access: string, dtype: DType, base: number): Asked {
  const question = questionOf(access, dtype);
  try {
    const operand = operandOf(layout, dtype, base, question());
    for (const form of formsOf(operand)) {
      const parts = partsOf(operand, form);
      if (parts) return told(access, operand, form, parts, dtype);
    }
    const [first = 0, next = 0] = operand.bytes;
    const steps = `along K by ${next - first} bytes, down the rows by ${operand.bytes[operand.columns]! - first}`;
    throw new LayoutError("", `no mode, LBO and SBO read every element where it is: from the first ${steps}`);
  } catch (no) {
    if (!(no instanceof LayoutError)) throw no;
    const engine = access.includes("tcgen05") ? " --engine tcgen05" : "";
    return refusedAsked(access, no.message, `tilewise match${engine} says what is nearest`);
  }
}

function operandOf(layout: Layout, dtype: DType, base: number, intake: Intake): Operand {
  const { bits } = dtype;
  const stored = new Stored(layout, dtype, base);
  const [rows, columns, ...more] = extentsOf(layout.shape).map(Number);
  const { deep, instruction } = intake;
  const least = Math.min(...intake.rows);
  if (!rows || !columns || more.length || rows % least || columns % deep) {
    throw new LayoutError("", `the tile is no whole number of ${instruction}, which take ${least} x ${deep} elements`);
  }
  const many = Math.max(1, 8 / bits);
  const bytes = bytesOf(stored, many);
  const outer = Number(layout.outer[layout.swizzledAxis?.name ?? ""] ?? 0n);
  const [size, pattern] = [Math.max(8, bits) / 8, base + (outer * bits) / 8];
  return { rows, columns: columns / many, k: deep / many, size, many, pattern, bytes, intake };
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
    const isOwn = inside ? at === stored.at(flat - 1) + stored.step : byte >= 0 && byte <= last && byte % 1 === 0 && !taken[byte];
    if (!isOwn) throw new LayoutError("", `element ${flat} has no byte of its own in shared memory, at ${byte}`);
    if (inside) continue;
    taken[byte] = 1;
    bytes[flat / many] = byte;
  }
  return bytes;
}

/** Every form that may be: the most rows of one instruction first, then the widest mode. */
function* formsOf({ rows, columns, bytes, size, intake }: Operand): Generator<Form> {
  const follows = [bytes[1]! - bytes[0]! === size, bytes[columns]! - bytes[0]! === size];
  for (const n of intake.rows) {
    if (rows % n) continue;
    const majors = [0, 1].filter((at) => follows[at] && (!at || (n * size) % CHUNK === 0)).map((at) => !at);
    const forms = majors.flatMap((isK) => intake.modes(isK).map((mode) => ({ isK, n, mode })));
    yield* forms.sort((a, b) => b.mode.width - a.mode.width);
  }
}

/** The descriptor of every instruction, with the same distances in all; null where one is not read. */
function partsOf(operand: Operand, form: Form): Part[] | null {
  const parts: Part[] = [];
  for (let top = 0; top < operand.rows; top += form.n) {
    for (let left = 0; left < operand.columns; left += operand.k) {
      const found = descriptorOf(operand, form, top, left);
      const first = parts[0] ?? found;
      if (!found || found.sbo !== first!.sbo) return null;
      if (!operand.intake.isAbsolute && found.lbo !== first!.lbo) return null;
      parts.push({ ...found, top, left });
    }
  }
  return parts;
}

/** The descriptor that reads every element of the part at (top, left) where it is. */
function descriptorOf(operand: Operand, form: Form, top: number, left: number): Descriptor | null {
  const { bytes, columns, size, k, intake } = operand;
  const { isK, n, mode } = form;
  const { width, rows, keeps } = mode;
  const wide = width / size;
  const [deep, long] = isK ? [n, k] : [k, n];
  const swizzled = (byte: number): number => byte ^ ((byte >> (keeps > CHUNK ? 2 : 3)) & (width - keeps));
  const at = (across: number, along: number): number =>
    bytes[isK ? (top + across) * columns + left + along : (top + along) * columns + left + across]!;
  for (const offset of intake.isAbsolute ? [0] : offsetsOf(operand.pattern, mode)) {
    const moved = UNIT * offset;
    const counted = (across: number, along: number): number => swizzled(at(across, along) - moved) + moved;
    const start = counted(0, 0);
    const inside = isK && width > CHUNK ? start % width : 0;
    const goesOn = isK && width > CHUNK && inside + k * size > width;
    if (goesOn && !intake.isWgmma && !intake.isAbsolute) continue; // nobody says what is read there
    const past = goesOn && intake.isAbsolute ? (width - inside) / size : long;
    const second = past < long ? counted(0, past) : null;
    const next = wide < long ? counted(0, wide) - start : null;
    const far = rows < deep ? counted(rows, 0) - start : null;
    if ([start, next ?? 0, far ?? 0, second ?? 0].some((it) => it % CHUNK || it < 0 || it >= 1 << 18)) continue;
    if (second !== null && (second % width) + (long - past) * size > width) continue;
    const isRead = (): boolean => {
      for (let along = 0; along < long; along++) {
        const here = start + Math.floor(along / wide) * (next ?? 0) + (along % wide) * size;
        const x = (along < past ? here : second! + (along - past) * size) - moved;
        for (let across = 0; across < deep; across++) {
          const byte = x + Math.floor(across / rows) * (far ?? 0) + (across % rows) * width;
          if (swizzled(byte) + moved !== at(across, along)) return false;
        }
      }
      return true;
    };
    const lbo = intake.isAbsolute ? second : next;
    const fields = isK || width > CHUNK ? { lbo, sbo: far } : { lbo: far, sbo: next };
    if (isRead()) return { start, offset, ...fields };
  }
  return null;
}

/** The base offsets to try, that of the pattern's start first. */
function offsetsOf(pattern: number, { width, rows }: Mode): number[] {
  if (width === CHUNK) return [0];
  const all = [...Array((rows * width) / UNIT).keys()];
  return pattern % UNIT || pattern % (rows * width) === 0 ? all : [(pattern / UNIT) % 8, ...all];
}

// -- in words ------------------------------------------------------------------------------------------

function told(access: string, operand: Operand, form: Form, parts: readonly Part[], dtype: DType): Asked {
  const { many, k, columns, rows, intake } = operand;
  const { isK, n, mode } = form;
  const { instruction, product, isAbsolute, isWgmma, ctas } = intake;
  const [first] = parts as [Part];
  const stepOf = (part: Part, number: number): Step => {
    const { top, start } = part;
    const [from, deep] = [part.left * many, k * many];
    const flat = (i: number): number => (top + Math.floor(i / deep)) * columns * many + from + (i % deep);
    return {
      title: `${instruction} ${number + 1} of ${parts.length}: rows ${top}..${top + n - 1}, k ${from}..${from + deep - 1}`,
      elements: Array.from({ length: n * deep }, (_, i) => flat(i)),
      lanes: [],
      cost: null,
      copies: null,
      note: `start + ${start - first.start} bytes`,
      encoded: encodedOf(operand, form, part, dtype),
    };
  };
  const said = (bytes: number | null): string => (bytes === null ? "not read" : `${bytes} bytes`);
  const [how, aligned] = mode.width > CHUNK ? [`${mode.name} mode`, mode.rows * mode.width] : ["no swizzle", CHUNK];
  const distances = `LBO ${isAbsolute ? "an address" : said(first.lbo)}, SBO ${said(first.sbo)}`;
  const count = `${parts.length} ${product}${isWgmma ? "" : `, ${intake.shape(n)}`}`;
  const offset = first.offset ? `, or it has base offset ${first.offset} as here` : "";
  const text = `${access}: ${how}, ${isK ? "K" : "MN"}-major, ${distances}, ${count}`;
  const hints = [`the tile's address is a multiple of ${aligned} bytes${offset}`];
  if (isAbsolute) hints.push("absolute LBO mode is of sm_103a");
  if (ctas > 1 && rows > n) {
    const whole = `${access.startsWith("descriptor.A") ? "M" : "N"} = ${n * ctas}`;
    const several = `${n} rows, and ${rows} take ${rows / n} instructions`;
    hints.push(`the tile is one CTA's: of ${whole} each CTA of the pair has ${several}`);
  }
  return askedWith(access, parts, stepOf, instruction, text, hints);
}

/** The 64 bits, with what each field says. */
function encodedOf({ intake, k, size }: Operand, form: Form, descriptor: Descriptor, { bits }: DType): Encoded {
  const { isK, n, mode } = form;
  const { width, rows, keeps } = mode;
  const { start, lbo, sbo, offset } = descriptor;
  const { isWgmma, isAbsolute } = intake;
  const isSwizzled = width > CHUNK;
  const long = (width * 8) / bits;
  const period = rows * width;
  const rest = (offset * UNIT) % period;
  const groups = `from the first ${rows} of K to the next ${rows}`;
  const lboWords = isK
    ? `from the first 16 bytes of K (${UNIT / bits} elements) to the next 16`
    : isSwizzled
      ? `from the first ${long} rows (${width} bytes) to the next ${long}`
      : groups;
  const sboWords = !isK && isSwizzled ? groups : `from the first 8 rows${isK ? "" : " (16 bytes)"} to the next 8`;
  const second = `byte ${lbo}, the address of the second chunk: K past the end of a row of ${width} bytes`;
  const noLbo = isAbsolute
    ? `not read: K of ${k * size} bytes ends in the row of ${width} where it begins`
    : isK
      ? "not read in this mode and major; 1 is written by custom"
      : `not read: all ${n} rows lie in one atom of ${long}`;
  const noSbo = `not read: there are no more ${isK || isWgmma ? "than 8 rows" : "rows than 16 bytes hold"}`;
  const spare = isAbsolute ? start - (start % width) : CHUNK;
  const pattern = `the swizzle pattern begins${rest ? ` ${rest} bytes past` : " at"} a multiple of ${period}`;
  const nothing = "nothing is swizzled";
  const swizzle = [Math.log2(width / keeps), Math.log2(keeps), Math.log2(rows)];
  const atoms = keeps > CHUNK ? ", in atoms of 32 bytes" : "";
  const modeWords = isSwizzled ? `: Swizzle<${swizzle}> on byte addresses${atoms}` : `: ${nothing}`;
  const ofBlackwell = [
    ["version", 46, 48, 1, "the constant of Blackwell's descriptors"],
    ["LBO mode", 52, 52, Number(isAbsolute), isAbsolute ? "absolute: LBO is an address" : "relative: LBO is an offset"],
  ] as const;
  const fields = (
    [
      ["start address", 0, 13, start / CHUNK, `byte ${start}, in units of 16`],
      ["LBO", 16, 29, (lbo ?? spare) / CHUNK, lbo === null ? noLbo : isAbsolute ? second : `${lbo} bytes ${lboWords}`],
      ["SBO", 32, 45, (sbo ?? 0) / CHUNK, sbo === null ? noSbo : `${sbo} bytes ${sboWords}`],
      ["base offset", 49, 51, offset, isSwizzled ? pattern : `not read: ${nothing}`],
      ["mode", isWgmma ? 62 : 61, 63, mode.codes[isWgmma ? 0 : 1], mode.name + modeWords],
      ...(isWgmma ? [] : ofBlackwell),
    ] as const
  )
    .map(([name, low, high, held, words]) => ({ name, low, high, held, words }))
    .sort((a, b) => a.low - b.low);
  const value = fields.reduce((sum, { low, held }) => sum | (BigInt(held) << BigInt(low)), 0n);
  const name = isWgmma ? "matrix descriptor" : "shared-memory descriptor";
  return { name, width: 64, value: `0x${value.toString(16).padStart(16, "0")}`, fields };
}
