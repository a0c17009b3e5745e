/** One request of a warp, phase by phase: which lanes ask which banks for which words. */

/** What moves elements between memory and lanes. */
export interface Operation {
  readonly name: string;
  /** Bytes of one lane that it can have. */
  readonly widths: readonly number[];
  /** The d for which lanes n and n ^ d that ask for one address, all of them, halve the phases. */
  readonly pairs: readonly number[];
}

const ROW_BYTES = 16;
const BANKS = 32;
const WORD = 4;
const WAVEFRONT = BANKS * WORD;

/** Every operation by name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [
    { name: "ld", widths: [1, 2, 4, 8, 16], pairs: [1, 2] },
    { name: "st", widths: [1, 2, 4, 8, 16], pairs: [] },
    { name: "ldmatrix", widths: [ROW_BYTES], pairs: [] },
    { name: "stmatrix", widths: [ROW_BYTES], pairs: [] },
  ].map((own) => [own.name, own]),
);

/** Lanes that go together, and the words that they ask for: the lanes by bank, then by word. */
export interface Phase {
  readonly lanes: readonly number[];
  readonly banks: ReadonlyMap<number, ReadonlyMap<number, readonly number[]>>;
  /** Different words of the busiest bank; 0 where no lane is active. */
  readonly wavefronts: number;
  /** The first bank that has so many. */
  readonly busiest: number | null;
}

/** One instruction of a warp. */
export interface Request {
  readonly phases: readonly Phase[];
  readonly wavefronts: number;
  /** The bytes of the active lanes in wavefronts, as the profiler counts it; never more than it took. */
  readonly ideal: number;
  readonly ways: number;
}

/** The wavefronts of a request whose lane n asks for `bytes` at addresses[n]; null where it is inactive. */
export function counted(operation: Operation, bytes: number, addresses: readonly (number | null)[]): Request {
  const alone = Math.min(32, WAVEFRONT / bytes);
  const merged = alone < 32 && operation.pairs.some((distance) => paired(addresses, distance));
  const together = merged ? 2 * alone : alone;
  const phases: Phase[] = [];
  for (let first = 0; first < addresses.length; first += together) {
    phases.push(phaseOf(addresses, first, Math.min(addresses.length, first + together), bytes));
  }
  const wavefronts = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
  const active = phases.reduce((sum, phase) => sum + phase.lanes.length, 0);
  const ideal = Math.min(wavefronts, Math.ceil((bytes * active) / WAVEFRONT));
  return { phases, wavefronts, ideal, ways: Math.max(0, ...phases.map((phase) => phase.wavefronts)) };
}

function paired(addresses: readonly (number | null)[], distance: number): boolean {
  return addresses.every((address, lane) => {
    const there = addresses[lane ^ distance] ?? null;
    return address === null || there === null || address === there;
  });
}

function phaseOf(addresses: readonly (number | null)[], first: number, last: number, bytes: number): Phase {
  const banks = new Map<number, Map<number, number[]>>();
  const lanes: number[] = [];
  for (let lane = first; lane < last; lane++) {
    const address = addresses[lane] ?? null;
    if (address === null) continue;
    lanes.push(lane);
    const end = Math.floor((address + bytes - 1) / WORD);
    for (let word = Math.floor(address / WORD); word <= end; word++) {
      const words = banks.get(word % BANKS) ?? new Map<number, number[]>();
      words.set(word, [...(words.get(word) ?? []), lane]);
      banks.set(word % BANKS, words);
    }
  }
  const sorted = new Map(inOrder(banks).map(([bank, words]) => [bank, new Map(inOrder(words))]));
  const wavefronts = Math.max(0, ...[...sorted.values()].map((words) => words.size));
  const busiest = [...sorted].find(([, words]) => words.size === wavefronts)?.[0] ?? null;
  return { lanes, banks: sorted, wavefronts, busiest };
}

function inOrder<T>(map: ReadonlyMap<number, T>): [number, T][] {
  return [...map].sort(([a], [b]) => a - b);
}

/** The wavefront of each word: every bank gives its words in the order of their addresses. */
export function served(phase: Phase): ReadonlyMap<number, number> {
  const turns = new Map<number, number>();
  for (const words of phase.banks.values()) {
    let turn = 0;
    for (const word of words.keys()) turns.set(word, turn++);
  }
  return turns;
}

/** Why a phase takes as many wavefronts as it does. */
export function reasonOf({ lanes, wavefronts, busiest }: Phase): string {
  const together = spelled(lanes);
  if (wavefronts < 2) return `${together} go together, and no bank gives two words`;
  return `${together} go together, and bank ${busiest} gives ${wavefronts} words`;
}

function spelled(lanes: readonly number[]): string {
  const [first, last] = [lanes[0]!, lanes[lanes.length - 1]!];
  if (lanes.length !== last - first + 1) return `lanes ${lanes.join(", ")}`;
  return lanes.length > 1 ? `lanes ${first}..${last}` : `lane ${first}`;
}
