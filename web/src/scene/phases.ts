/** One request of a warp, phase by phase: which lanes ask which banks for which words. */

/** What moves elements between memory and lanes. */
export interface Operation {
  readonly name: string;
  /** Bytes of one lane that it can have. */
  readonly widths: readonly number[];
  /** The d for which lanes n and n ^ d that ask for one address, all of them, halve the phases. */
  readonly pairs: readonly number[];
  /** Whether lanes that meet at a word go one after the other; else one wavefront serves them all. */
  readonly inTurn: boolean;
}

const ROW_BYTES = 16;
const BANKS = 32;
const WORD = 4;
const WAVEFRONT = BANKS * WORD;
const LANES = 32;

/** Every operation by name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  (
    [
      ["ld", [1, 2, 4, 8, 16], [1, 2]],
      ["st", [1, 2, 4, 8, 16]],
      ["ldmatrix", [ROW_BYTES]],
      ["stmatrix", [ROW_BYTES]],
      ["cp.async", [4, 8, 16], [], true],
      ["atom", [4, 8], [], true],
      ["tma", [ROW_BYTES]],
    ] as [string, number[], number[]?, boolean?][]
  ).map(([name, widths, pairs = [], inTurn = false]) => [name, { name, widths, pairs, inTurn }]),
);

/** A sentence about what is not known of an operation of so many bytes, or what else it costs; or nothing. */
export function guessOf({ name }: Operation, bytes: number): string {
  if (name === "tma") return "of tma no document says in which order its rows go, which no counter shows";
  if (name === "atom" && bytes === 8) return "of atom no document says what 8 bytes cost: those of 4 were counted";
  return name === "cp.async" ? `${name} takes at least so many: ${LEAST}` : "";
}

const LEAST =
  "its lanes take turns at the banks that they read, too. Along a row these differ, and nothing is added; " +
  "cp.async.cg, past the L1, takes none";

/** Lanes that go together, and the words that they ask for: the lanes by bank, then by word. */
export interface Phase {
  readonly lanes: readonly number[];
  readonly banks: ReadonlyMap<number, ReadonlyMap<number, readonly number[]>>;
  /** Different words of the busiest bank; 0 where no lane is active. */
  readonly wavefronts: number;
  /** The first bank that has so many. */
  readonly busiest: number | null;
  readonly inTurn: boolean;
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
  const alone = Math.min(LANES, WAVEFRONT / bytes);
  const merged = alone < LANES && operation.pairs.some((distance) => paired(addresses, distance));
  const together = merged ? 2 * alone : alone;
  const phases: Phase[] = [];
  for (let first = 0; first < addresses.length; first += together) {
    phases.push(phaseOf(addresses, first, Math.min(addresses.length, first + together), bytes, operation.inTurn));
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

function phaseOf(
  addresses: readonly (number | null)[],
  first: number,
  last: number,
  bytes: number,
  inTurn: boolean,
): Phase {
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
  const taken = (words: ReadonlyMap<number, readonly number[]>): number =>
    inTurn ? [...words.values()].flat().length : words.size;
  const wavefronts = Math.max(0, ...[...sorted.values()].map(taken));
  const busiest = [...sorted].find(([, words]) => taken(words) === wavefronts)?.[0] ?? null;
  return { lanes, banks: sorted, wavefronts, busiest, inTurn };
}

function inOrder<T>(map: ReadonlyMap<number, T>): [number, T][] {
  return [...map].sort(([a], [b]) => a - b);
}

/** The wavefront of each lane at each word, under 32 * word + lane: banks give words by their addresses. */
export function served({ banks, inTurn }: Phase): ReadonlyMap<number, number> {
  const turns = new Map<number, number>();
  for (const words of banks.values()) {
    let turn = 0;
    for (const [word, lanes] of words) {
      for (const lane of lanes) turns.set(LANES * word + lane, inTurn ? turn++ : turn);
      if (!inTurn) turn++;
    }
  }
  return turns;
}

/** Why a phase takes as many wavefronts as it does. */
export function reasonOf({ lanes, wavefronts, busiest, inTurn }: Phase): string {
  const together = spelled(lanes);
  if (wavefronts < 2) return `${together} go together, and no bank gives two words`;
  const does = inTurn ? `serves ${wavefronts} lanes in turn` : `gives ${wavefronts} words`;
  return `${together} go together, and bank ${busiest} ${does}`;
}

function spelled(lanes: readonly number[]): string {
  const [first, last] = [lanes[0]!, lanes[lanes.length - 1]!];
  if (lanes.length !== last - first + 1) return `lanes ${lanes.join(", ")}`;
  return lanes.length > 1 ? `lanes ${first}..${last}` : `lane ${first}`;
}
