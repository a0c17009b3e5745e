/** What the lanes of a warp ask of a tile: rows, columns, matrices, or what a layout says. */

import { LayoutError, byCoordinates, extentsOf, extremes, print, spelledShape, table, type Layout } from "../core";
import { read } from "../notation";
import { hardware } from "./hardware";
import { movingOf, type Stored } from "./stored";

/** Which element of the tile a lane asks for; an index past the end is nobody's. */
export interface Index {
  readonly requests: number;
  readonly lanes: number;
  readonly elements: number;
  at(request: number, lane: number, element: number): number;
}

/** What lanes ask for, before it is known how many elements at once. */
export interface Pattern {
  readonly name: string;
  readonly operation: string;
  /** The width of a vector, where there is one alone. */
  readonly bytes: number | null;
  index(elements: number): Index;
}

const LANES = 32;
const ROW_BYTES = 16;
const ROW_BITS = 128;
const MATRIX_ROWS = 8;
const EXAMPLES = "row:16B, col:2B, ldmatrix.x4.trans, S[(32, 8) : (64, 1)]";

/** A good question whose answer is no. */
export class Refusal extends LayoutError {
  constructor(
    code: string,
    message: string,
    hint = "",
    readonly rule = "",
  ) {
    super(code, message, hint);
  }
}

/** The pattern of that name, of a tile. */
export function patternOf(name: string, stored: Stored): Pattern {
  if (name === "row") {
    return { name, operation: "ld", bytes: null, index: (elements) => inRows(stored.size, elements) };
  }
  if (name === "col") {
    const [rows, columns] = matrixOf(stored, "columns are those");
    return { name, operation: "ld", bytes: null, index: (elements) => inColumns(rows, columns, elements) };
  }
  const matrices = /^(ldmatrix|stmatrix)\.x([124])(\.trans)?$/.exec(name);
  if (matrices) {
    const index = inMatrices(stored, matrices[1]!, Number(matrices[2]));
    return { name, operation: matrices[1]!, bytes: ROW_BYTES, index: () => index };
  }
  const engine = hardware().pattern(name, stored);
  if (engine) return engine;
  if (/[[(]|^\d+:/.test(name)) return ofLayout(name, stored);
  throw new LayoutError("TW601", `'${name}' is no access`, `such as ${EXAMPLES}`);
}

/** Rows and columns of the tile, which has to have both. */
export function matrixOf(stored: Stored, why: string): [number, number] {
  const extents = extentsOf(stored.layout.shape).map(Number);
  if (extents.length === 2) return [extents[0]!, extents[1]!];
  const modes = `${extents.length} mode${extents.length === 1 ? "" : "s"}`;
  throw new Refusal(
    "TW610",
    `${why} of a tile of rows and columns, and the shape ${spelledShape(stored.layout.shape)} has ${modes}`,
    "write the expression with two modes, such as S[(8, 64) : (64, 1)]",
  );
}

function inRows(size: number, elements: number): Index {
  const lanes = Math.min(LANES, Math.ceil(size / elements));
  const requests = Math.ceil(size / (lanes * elements));
  return { requests, lanes, elements, at: (request, lane, i) => (request * lanes + lane) * elements + i };
}

function inColumns(rows: number, columns: number, elements: number): Index {
  if (columns % elements) {
    const hint = "a vector of a column runs along the row, and ends with it";
    const reason = `a row of ${columns} elements is no whole number of vectors of ${elements}`;
    throw new Refusal("TW610", reason, hint, "row");
  }
  const across = columns / elements;
  if (rows > LANES) {
    const down = Math.ceil(rows / LANES);
    const at = (request: number, lane: number, i: number): number =>
      Math.floor(request / down) * elements + ((request % down) * LANES + lane) * columns + i;
    return { requests: across * down, lanes: LANES, elements, at };
  }
  let together = Math.floor(LANES / rows);
  while (across % together) together--;
  const at = (request: number, lane: number, i: number): number =>
    (request * together + Math.floor(lane / rows)) * elements + (lane % rows) * columns + i;
  return { requests: across / together, lanes: together * rows, elements, at };
}

function inMatrices(stored: Stored, instruction: string, count: number): Index {
  const [rows, columns] = matrixOf(stored, "matrices are blocks");
  const held = ROW_BITS % stored.bits === 0 ? ROW_BITS / stored.bits : 0;
  const down = contiguousDown(stored, rows, columns, held);
  const [tall, wide] = down ? [held, MATRIX_ROWS] : [MATRIX_ROWS, held];
  const below = Math.min(count, 2);
  const [high, broad] = [tall * below, (wide * count) / below];
  if (rows % high || columns % broad) {
    throw new Refusal(
      "TW610",
      `one ${instruction} of ${count} matrices takes ${high} x ${broad} elements of ${stored.dtype.name}, ` +
        `and the tile has ${rows} x ${columns}`,
      count > 1 ? "fewer matrices, such as x1, take smaller blocks" : "",
    );
  }
  const across = columns / broad;
  const at = (request: number, lane: number, i: number): number => {
    const [matrix, row] = [Math.floor(lane / MATRIX_ROWS), lane % MATRIX_ROWS];
    const top = Math.floor(request / across) * high + (matrix % below) * tall + (down ? i : row);
    const left = (request % across) * broad + Math.floor(matrix / below) * wide + (down ? row : i);
    return top * columns + left;
  };
  return { requests: (rows / high) * across, lanes: MATRIX_ROWS * count, elements: held, at };
}

/** Whether the first mode is the contiguous one: its first elements follow one another. */
function contiguousDown(stored: Stored, rows: number, columns: number, held: number): boolean {
  const powers: number[] = [];
  for (let step = 1; step < held; step *= 2) powers.push(step);
  for (const [down, extent, step] of [[false, columns, 1], [true, rows, columns]] as const) {
    if (!held || extent < held) continue;
    if (powers.every((i) => stored.at(step * i) === stored.at(0) + stored.step * i)) return down;
  }
  throw new Refusal(
    "TW610",
    `no mode of the tile has 16 contiguous bytes: a row of a matrix is ${held || "no whole number of"} ` +
      `elements of ${stored.dtype.name} that follow one another`,
    "tilewise match --engine mma finds what moves it",
  );
}

/** (lane), (lane, element) or (request, lane, element) to elements of the tile; CuTe's indices count the first mode fastest. */
function ofLayout(text: string, stored: Stored): Pattern {
  const written = read(text);
  const layout = byCoordinates(written);
  const extents = extentsOf(layout.shape).map(Number);
  const weights = weightsOf(layout, stored);
  const cute = written.order === "cute" && weights.get("m");
  if (!extents.length || extents.length > 3) {
    const reason = `an access has the modes (lane, element) or (request, lane, element), not ${spelledShape(layout.shape)}`;
    throw new LayoutError("TW202", reason);
  }
  const requests = extents.length === 3 ? extents[0]! : 1;
  const lanes = extents[extents.length === 3 ? 1 : 0]!;
  const held = extents.length === 1 ? 1 : extents[extents.length - 1]!;
  if (lanes > LANES) {
    const hint = "the first of three modes counts requests: such as S[(2, 32, 8) : ...]";
    throw new LayoutError("TW201", `${lanes} lanes, and a warp has ${LANES}`, hint);
  }
  if (layout.replica.length) {
    throw new LayoutError("TW509", "a lane asks for an element once, and the access has copies");
  }
  const [low, high] = extremes(layout, "m");
  if (low < 0n || high >= BigInt(stored.size)) {
    const far = low < 0n ? low : high;
    throw new Refusal("TW502", `lanes ask for index ${far}, and the tile has ${stored.size} elements`);
  }
  const columns = table(layout, { from: 0, to: Number(layout.size) });
  const flat = (at: number): number => {
    let index = 0;
    for (const [axis, weight] of weights) index += weight * Number(columns[axis]![at]);
    return cute ? inRowMajorOrder(index, stored) : index;
  };
  return { name: print(written), operation: "ld", bytes: null, index: vectorsOf(requests, lanes, held, flat) };
}

/** What a step is worth on every axis that moves: on m an index, on e0, e1, ... a coordinate of that mode. */
function weightsOf(layout: Layout, stored: Stored): Map<string, number> {
  const moving = movingOf(layout).sort();
  if (moving.every((axis) => axis === "m")) return new Map(moving.map((axis) => [axis, 1]));
  const extents = extentsOf(stored.layout.shape).map(Number);
  const modes = moving.map((axis) => extents.findIndex((_, mode) => axis === `e${mode}`));
  if (layout.swizzles.length || modes.includes(-1)) {
    const hint = "on m it counts flat indices, on e0, e1, ... coordinates";
    throw new LayoutError("TW509", `lanes ask for indices of the tile, and the access is on ${moving.join(" and ")}`, hint);
  }
  return new Map(
    modes.map((mode, at) => {
      const axis = moving[at]!;
      const [low, high] = extremes(layout, axis);
      const far = low < 0n ? low : high;
      if (far >= 0n && far < extents[mode]!) return [axis, extents.slice(mode + 1).reduce((a, b) => a * b, 1)];
      throw new Refusal("TW502", `lanes ask for coordinate ${far} on ${axis}, and the tile has ${extents[mode]} there`);
    }),
  );
}

/** The flat index of the element whose index counts the tile's first mode fastest. */
function inRowMajorOrder(index: number, stored: Stored): number {
  let [rest, flat] = [index, 0];
  for (const extent of extentsOf(stored.layout.shape).map(Number)) {
    flat = flat * extent + (rest % extent);
    rest = Math.floor(rest / extent);
  }
  return flat;
}

/** Vectors of what lanes have in order, a request after the other; `flat` is of [request, lane, element]. */
export function vectorsOf(
  requests: number,
  lanes: number,
  held: number,
  flat: (at: number) => number,
): Pattern["index"] {
  return (elements) => {
    if (held % elements) {
      const reason = `a lane has ${held} elements, no whole number of vectors of ${elements}`;
      throw new Refusal("TW610", reason, "", "held");
    }
    const vectors = held / elements;
    const at = (request: number, lane: number, i: number): number =>
      flat((Math.floor(request / vectors) * lanes + lane) * held + (request % vectors) * elements + i);
    return { requests: requests * vectors, lanes, elements, at };
  };
}
