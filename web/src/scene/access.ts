/** An access of a tile: from its words to the addresses of all lanes, and to a step for each wavefront. */

import { LayoutError, extentsOf, type DType, type Layout } from "../core";
import { MOST_STEPS, cut, type Asked } from "./asked";
import { hardware } from "./hardware";
import { MOST_CELLS } from "./logical";
import { OPERATIONS, counted, guessOf, reasonOf, served, type Operation, type Phase, type Request } from "./phases";
import { pause, type Work } from "./pieces";
import { Refusal, patternOf, type Index, type Pattern } from "./patterns";
import { Stored } from "./stored";
import type { Note, Step } from "./types";

/** Which elements lanes ask for, by which instruction, and at which byte addresses. */
export interface Access {
  readonly name: string;
  readonly operation: Operation;
  readonly bytes: number;
  readonly index: Index;
  readonly stored: Stored;
  /** The addresses of a request, one a lane; null where it asks for nothing. */
  addresses(request: number): (number | null)[];
}

const BYTE = 8;
const WORD_BITS = 32;
const LANES = 32;
/** So many requests are looked at in a piece. */
const REQUESTS = 32;

/** The steps of an access, and in a sentence what it needs; of lanes, of wgmma, tcgen05 or TMA. */
export function* askedOf(layout: Layout, text: string, dtype: DType | null, base: number): Work<Asked> {
  if (layout.size > BigInt(MOST_CELLS)) {
    const reason = `an access of ${layout.size} elements, and those of ${MOST_CELLS} are drawn at most`;
    throw new LayoutError("TW301", reason, "tilewise banks counts without a picture");
  }
  if (!dtype) throw new LayoutError("TW401", "the type of an element is not given", "say it in the field dtype, such as bf16");
  const name = text.trim();
  return hardware().asked(layout, name, dtype, base) ?? (yield* wavefrontsAsked(yield* accessOf(layout, text, dtype, base)));
}

/** The first wavefronts of an access, and what all of them cost, in Nsight Compute's words. */
function* wavefrontsAsked(access: Access): Work<Asked> {
  let [wavefronts, ideal, ways] = [0, 0, 0];
  const steps: Step[] = [];
  for (let number = 0; number < access.index.requests; number++) {
    const request = counted(access.operation, access.bytes, access.addresses(number));
    wavefronts += request.wavefronts;
    ideal += request.ideal;
    ways = Math.max(ways, request.ways);
    if (steps.length < MOST_STEPS) steps.push(...stepsOf(access, number, request));
    if (number % REQUESTS === 0) yield* pause(access.stored.size);
  }
  const free = ways > 1 ? `${ways} ways` : "no conflicts";
  const said: Note = {
    kind: ways > 1 ? "no" : "yes",
    text: `${access.name}: ${wavefronts} wavefront${wavefronts === 1 ? "" : "s"}, ideal ${ideal}, ${free}`,
  };
  const notes = [said, ...cut(wavefronts, "wavefronts")];
  const idle = idleSaid(access);
  if (idle) notes.push({ kind: "hint", text: idle });
  const guess = guessOf(access.operation, access.bytes);
  if (guess) notes.push({ kind: "hint", text: guess });
  return { name: access.name, steps: steps.slice(0, MOST_STEPS), notes };
}

/** A sentence about the lanes of a warp that no request has, or nothing. */
function idleSaid({ name, operation, index }: Access): string {
  const idle = LANES - index.lanes;
  if (!idle || ["ldmatrix", "stmatrix", "tma"].includes(operation.name)) return "";
  const ofModes = index.requests > 1 && /^(S\[|\()/.test(name);
  const why = ofModes ? ": of three modes the first counts requests, the second lanes" : "";
  return `${index.lanes} of ${LANES} lanes ask, and ${idle} ${idle === 1 ? "is" : "are"} idle${why}`;
}

/** The access that a text means of a tile; vectors are the widest where no width is said. */
export function* accessOf(layout: Layout, text: string, dtype: DType, base = 0): Work<Access> {
  const stored = new Stored(layout, dtype, base);
  const words = wordsOf(text);
  const pattern = patternOf(words.subject, stored);
  const own = operationOf(pattern, words.operation);
  if (pattern.bytes !== null && words.bytes !== null && words.bytes !== pattern.bytes) {
    throw new LayoutError("TW602", `${pattern.name} of ${words.bytes} bytes a lane`, `its rows have ${pattern.bytes}`);
  }
  const question = { pattern, operation: own, stored };
  const bytes = pattern.bytes ?? words.bytes;
  return yield* bytes === null ? widestOf(question) : accessWith(question, bytes);
}

interface Words {
  readonly subject: string;
  readonly bytes: number | null;
  readonly operation: string | null;
}

/** An operation with its bytes, as in cp.async.16, goes along the rows. */
const ALONE = /^(cp\.async|ld|st|atom)(?:[.:]?(\d+)B?)?$/;

const SHORT: Readonly<Record<string, string>> = { rows: "row", column: "col", columns: "col", cols: "col" };

function wordsOf(text: string): Words {
  const alone = ALONE.exec(text.trim());
  if (alone) return { subject: "row", bytes: alone[2] ? Number(alone[2]) : null, operation: alone[1]! };
  const at = text.lastIndexOf("@");
  const last = text.slice(at + 1).trim();
  const said = at >= 0 && OPERATIONS.has(last) ? last : null;
  const whole = (said ? text.slice(0, at) : text).trim();
  const width = /\s*:\s*(\d+)\s*B$/.exec(whole);
  const subject = width ? whole.slice(0, width.index) : whole;
  if (!subject) throw new LayoutError("TW601", `'${text}' is no access`, "such as row:16B, col:2B, ldmatrix.x4.trans");
  return { subject: SHORT[subject] ?? subject, bytes: width ? Number(width[1]) : null, operation: said };
}

function operationOf(pattern: Pattern, said: string | null): Operation {
  const own = OPERATIONS.get(pattern.bytes ? pattern.operation : (said ?? pattern.operation))!;
  if (said && said !== own.name) {
    throw new LayoutError("TW601", `${pattern.name} by ${own.name}, and by ${said}`, "say one of them");
  }
  if (own.name.endsWith("matrix") && !pattern.bytes) {
    throw new LayoutError("TW601", `${own.name} has patterns of its own`, `such as ${own.name}.x4`);
  }
  return own;
}

interface Question {
  readonly pattern: Pattern;
  readonly operation: Operation;
  readonly stored: Stored;
}

function* accessWith({ pattern, operation, stored }: Question, bytes: number): Work<Access> {
  if (!operation.widths.includes(bytes)) {
    throw new LayoutError("TW602", `${operation.name} of ${bytes} bytes a lane`, `it has ${operation.widths.join(", ")}`);
  }
  if ((bytes * BYTE) % stored.bits) {
    const many = bytes > 1 ? "bytes are" : "byte is";
    const reason = `${bytes} ${many} no whole number of elements of ${stored.dtype.name}, which have ${stored.bits} bits`;
    throw new Refusal("TW610", reason, "", "type");
  }
  const index = pattern.index((bytes * BYTE) / stored.bits);
  const width = pattern.bytes ? "" : `:${bytes}B`;
  const moved = operation.name === pattern.operation ? "" : `@${operation.name}`;
  const addresses = yield* addressesOf(stored, index, operation, bytes);
  return {
    name: pattern.name + width + moved,
    operation,
    bytes,
    index,
    stored,
    addresses,
  };
}

/** The widest vectors that every lane can have. */
function* widestOf(question: Question): Work<Access> {
  let blocked: [number, Refusal] | null = null;
  for (const bytes of [...question.operation.widths].sort((a, b) => b - a)) {
    try {
      return yield* accessWith(question, bytes);
    } catch (no) {
      if (!(no instanceof Refusal)) throw no;
      if (!blocked || no.rule !== "type") blocked = [bytes, no];
    }
  }
  const [bytes, no] = blocked!;
  throw no.rule === "type" ? refusalOfType(question) : yield* byBase(question, bytes, no);
}

function refusalOfType({ operation, stored }: Question): Refusal {
  const hint = stored.bits % BYTE ? "ask about the bytes that they are packed into, as u8" : "";
  const whole = `whole elements of ${stored.dtype.name}, which have ${stored.bits} bits`;
  return new Refusal("TW610", `no vector of ${operation.widths.join(", ")} bytes is ${whole}`, hint, "type");
}

/** Why a width is refused: the tile's address, where nothing else is in the way. */
function* byBase(question: Question, bytes: number, no: Refusal): Work<Refusal> {
  const { stored } = question;
  if (stored.base % bytes === 0) return no;
  try {
    yield* accessWith({ ...question, stored: new Stored(stored.layout, stored.dtype, 0) }, bytes);
  } catch {
    return no;
  }
  const hint = `nothing else is in the way: put it at a multiple of ${bytes}`;
  return new Refusal("TW610", `the tile is at byte ${stored.base}, no multiple of ${bytes}`, hint, "base");
}

/** The byte address of each lane in each request, every one looked at. */
function* addressesOf(
  stored: Stored,
  index: Index,
  operation: Operation,
  bytes: number,
): Work<Access["addresses"]> {
  const { requests, lanes, elements } = index;
  const width = elements * stored.step;
  const listed: (number | null)[] = [];
  for (let request = 0; request < requests; request++) {
    for (let lane = 0; lane < lanes; lane++) {
      const asked = Array.from({ length: elements }, (_, i) => index.at(request, lane, i));
      const first = stored.at(asked[0]!);
      const follow = asked.every((flat, i) => flat < stored.size && stored.at(flat) === first + i * stored.step);
      const nothing = asked.every((flat) => flat >= stored.size);
      if (!nothing && (!follow || first < 0 || first % width)) {
        throw unserved(stored, operation, bytes, request, lane, asked);
      }
      listed.push(nothing ? null : (first * stored.unit) / BYTE);
    }
    if (request % REQUESTS === 0) yield* pause(stored.size);
  }
  return (request) => listed.slice(request * lanes, (request + 1) * lanes);
}

/** The first thing that is wrong with what a lane asks for. */
function unserved(
  stored: Stored,
  operation: Operation,
  bytes: number,
  request: number,
  lane: number,
  asked: readonly number[],
): Refusal {
  const said = `lane ${lane} of request ${request} asks for ${bytes} byte${bytes === 1 ? "" : "s"}`;
  const outside = asked.find((flat) => flat >= stored.size);
  if (outside !== undefined) {
    const reason = `${said} of which element ${outside} is past the end of the tile`;
    return new Refusal("TW610", reason, "a narrower vector ends with the tile", "end");
  }
  const whole = operation.name.endsWith("matrix")
    ? `${operation.name} takes 16-byte rows as they lie, from multiples of 16 on`
    : "";
  for (let i = 0; i + 1 < asked.length; i++) {
    const [one, two] = [asked[i]!, asked[i + 1]!];
    if (stored.at(two) === stored.at(one) + stored.step) continue;
    const at = `${addressWords(stored, one)} and ${addressWords(stored, two)}`;
    const reason = `${said}, and elements ${one} and ${two} are at bytes ${at}: no neighbours`;
    return new Refusal("TW610", reason, turned(stored) || whole, "neighbours");
  }
  const first = asked[0]!;
  const below = stored.at(first) < 0;
  const kind = below ? "below 0" : `no multiple of ${bytes}`;
  const reason = `${said} from element ${first} on, which is at byte ${addressWords(stored, first)}, ${kind}`;
  return new Refusal("TW610", reason, below ? "" : whole, below ? "negative" : "alignment");
}

/** What to do where elements are neighbours down the columns, not along the rows. */
function turned(stored: Stored): string {
  const extents = extentsOf(stored.layout.shape).map(Number);
  if (extents.length !== 2 || Math.min(...extents) < 2) return "";
  if (stored.at(extents[1]!) !== stored.at(0) + stored.step) return "";
  return "elements are neighbours down the columns: ask about the tile with its modes swapped";
}

function addressWords(stored: Stored, flat: number): string {
  const bits = stored.at(flat) * stored.unit;
  const byte = Math.floor(bits / BYTE);
  return bits % BYTE ? `${byte} + ${bits - byte * BYTE} bits` : `${byte}`;
}

function stepsOf(access: Access, number: number, request: Request): Step[] {
  return request.phases.flatMap((phase, position) => {
    const turns = served(phase);
    const many = phase.wavefronts;
    return Array.from({ length: many }, (_, wavefront): Step => {
      const title = `request ${number}, phase ${position}, wavefront ${wavefront + 1} of ${many}`;
      const [elements, lanes] = elementsIn(access, number, phase, turns, wavefront);
      return { title, elements, lanes, cost: many, copies: null, note: reasonOf(phase), encoded: null };
    });
  });
}

/** The elements that are whole after a wavefront, and the lanes that asked for them. */
function elementsIn(
  access: Access,
  number: number,
  phase: Phase,
  turns: ReadonlyMap<number, number>,
  wavefront: number,
): [number[], number[]] {
  const { index, stored } = access;
  const [elements, lanes]: [number[], number[]] = [[], []];
  for (const lane of phase.lanes) {
    for (let i = 0; i < index.elements; i++) {
      const flat = index.at(number, lane, i);
      const begin = stored.at(flat) * stored.unit;
      const last = Math.floor((begin + stored.bits - 1) / WORD_BITS);
      let whole = 0;
      for (let word = Math.floor(begin / WORD_BITS); word <= last; word++) whole = Math.max(whole, turns.get(LANES * word + lane)!);
      if (whole !== wavefront) continue;
      elements.push(flat);
      lanes.push(lane);
    }
  }
  return [elements, lanes];
}
