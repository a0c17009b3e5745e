/** Two layouts of one tensor, element by element: what stays, and what has to move. */

import { elementsOf, flatOf, gridColumns } from "./cells";
import { PIECE, inPieces, pause, type Work } from "./pieces";
import type { Axis, Scene } from "./types";

/** The places of a scene by axis. */
type Columns = ReadonlyMap<string, ArrayLike<number>>;

/** How far an element goes along an axis, the farthest first, and how that is said. */
const BETWEEN: ReadonlyMap<string, string> = new Map([
  ["device", "between devices"],
  ["cta", "between CTAs"],
  ["warp", "between warps"],
  ["lane", "between lanes"],
  ["register", "between registers"],
  ["memory", "in memory"],
]);
const KIND: ReadonlyMap<string, string> = new Map([
  ...["bx", "by", "bz", "cbx", "cby", "cbz"].map((name): [string, string] => [name, "cta"]),
  ...["wgid", "warpid", "wid_in_wg", "tx", "tid_in_wg"].map((name): [string, string] => [name, "warp"]),
  ["laneid", "lane"],
  ["reg", "register"],
  ["TLane", "memory"],
]);
const WARP = 32;
/** More than there are of anything. */
const MANY = 2 ** 32;
/** Of an axis of threads its parts: (part, how many of the axis are one of it, how many there are). */
const THREADS: ReadonlyMap<string, readonly (readonly [string, number, number])[]> = new Map([
  [
    "tx",
    [
      ["wgid", 4 * WARP, MANY],
      ["wid_in_wg", WARP, 4],
      ["laneid", 1, WARP],
    ],
  ],
  [
    "tid_in_wg",
    [
      ["wid_in_wg", WARP, MANY],
      ["laneid", 1, WARP],
    ],
  ],
  [
    "warpid",
    [
      ["wgid", 4, MANY],
      ["wid_in_wg", 1, 4],
    ],
  ],
]);
const MOST_MODES = 4;

/** What has to move from the first layout to the second, in a sentence; nothing of parts that do not match. */
export function* difference(first: Scene, second: Scene): Work<string> {
  const [here, there] = [elementsOf(first), elementsOf(second)];
  if (isWhole(first) && isWhole(second)) {
    if (here !== there) return `They have ${here} and ${there} elements, and are not of one tensor.`;
    const isTurned = String(first.shape) !== String(second.shape);
    const [one, other] = isTurned ? [byFlatIndex(first), byFlatIndex(second)] : [first, second];
    return yield* new Pair(one, other, one !== first).words();
  }
  const alike = JSON.stringify(first.window) === JSON.stringify(second.window);
  return alike && gridColumns(first) === gridColumns(second) && here === there
    ? `In this window: ${yield* new Pair(first, second).words()}`
    : "";
}

/** A whole scene with its elements in the order of their flat indices, its modes to fit. */
function byFlatIndex(scene: Scene): Scene {
  if (scene.order !== "cute") return scene;
  const { copies } = scene;
  const places = Object.fromEntries(
    Object.entries(scene.places).map(([axis, values]) => {
      const turned = new Float64Array(values.length);
      for (let position = 0; position < values.length / copies; position++) {
        const flat = flatOf(scene, position);
        for (let copy = 0; copy < copies; copy++) turned[flat * copies + copy] = values[position * copies + copy]!;
      }
      return [axis, turned];
    }),
  );
  return { ...scene, shape: [...scene.shape].reverse(), places, order: "row" };
}

function isWhole(scene: Scene): boolean {
  const [[top, bottom], [left, right]] = scene.window;
  const rows = scene.rows.reduce((size, extent) => size * extent, 1);
  return top === 0 && left === 0 && bottom === rows && right === gridColumns(scene);
}

/** Two scenes of as many elements on all axes of both; an axis that one of them lacks is 0 there. */
class Pair {
  private readonly ours: Columns;
  private readonly theirs: Columns;
  private readonly respelled: boolean;
  private readonly names: readonly string[];
  private readonly here: readonly ArrayLike<number>[];
  private readonly there: readonly ArrayLike<number>[];
  private readonly count: number;

  constructor(
    private readonly first: Scene,
    private readonly second: Scene,
    /** The first has its modes in reverse. */
    private readonly turned = false,
  ) {
    [this.ours, this.theirs, this.respelled] = spelledAlike(first, second);
    this.names = [...new Set([...this.ours.keys(), ...this.theirs.keys()])];
    this.here = this.columnsOf(this.ours, first);
    this.there = this.columnsOf(this.theirs, second);
    this.count = elementsOf(first);
  }

  *words(): Work<string> {
    const every = this.names.map((_, i) => i);
    const moving = yield* this.moving(every);
    const [here, there] = [this.first.copies, this.second.copies];
    if (!moving && here > there) {
      return `Nothing moves: of ${here} copies of every element ${there} ${there === 1 ? "is" : "are"} kept.`;
    }
    if (!moving) {
      const alike = String(this.first.shape) === String(this.second.shape);
      const threads = this.respelled ? ", with threads counted in another way" : "";
      return `The same map${alike ? "" : " in another shape"}${threads}: nothing moves.`;
    }
    const order = yield* this.order();
    const view = order ? `with the modes in the order (${order.join(", ")})` : "";
    if (view && String(this.first.shape) !== String(this.second.shape)) return `A view, ${view}: nothing moves.`;
    const shift = this.shift();
    if (shift) return `Every element moves by ${shift}.`;
    if (yield* this.changesStorage()) {
      const [ours, theirs] = [this.first, this.second].map((scene) => storageOf(scene).join(" and "));
      return `The first lives in ${ours}, the second in ${theirs}: every element is copied.${this.copies()}`;
    }
    return (yield* this.moves(moving)) + (view ? ` Read ${view}, the second is the first.` : "");
  }

  private columnsOf(places: Columns, scene: Scene): ArrayLike<number>[] {
    const zeros = new Float64Array(elementsOf(scene) * scene.copies);
    return this.names.map((name) => places.get(name) ?? zeros);
  }

  /** Whether all new places of an element are among the old ones of another, on some axes. */
  private stays(old: number, element: number, axes: readonly number[]): boolean {
    const { here, there } = this;
    const [copies, added] = [this.first.copies, this.second.copies];
    if (copies === 1 && added === 1) {
      for (const axis of axes) if (here[axis]![old] !== there[axis]![element]) return false;
      return true;
    }
    for (let to = element * added; to < (element + 1) * added; to++) {
      let found = false;
      for (let from = old * copies; from < (old + 1) * copies && !found; from++) {
        found = axes.every((axis) => here[axis]![from] === there[axis]![to]);
      }
      if (!found) return false;
    }
    return true;
  }

  private *moving(axes: readonly number[]): Work<number> {
    let moving = 0;
    yield* inPieces(this.count, (from, to) => {
      for (let element = from; element < to; element++) if (!this.stays(element, element, axes)) moving++;
    });
    return moving;
  }

  /** The order of the first one's modes in which it is the second; null where there is none. */
  private *order(): Work<number[] | null> {
    const { shape } = this.first;
    if (this.first.copies !== this.second.copies || shape.length > MOST_MODES || !isWhole(this.first)) return null;
    for (const order of orders(shape.length)) {
      if (String(order.map((mode) => shape[mode])) === String(this.second.shape) && (yield* this.isIn(order))) {
        return this.turned ? order.map((mode) => shape.length - 1 - mode).reverse() : order;
      }
    }
    return null;
  }

  private *isIn(order: readonly number[]): Work<boolean> {
    for (let from = 0; from < this.count; from += PIECE) {
      if (!this.isInFrom(order, from)) return false;
      yield* pause(this.count);
    }
    return true;
  }

  /** Whether the elements of a piece are those of the first one with its modes in an order. */
  private isInFrom(order: readonly number[], from: number): boolean {
    const { shape } = this.first;
    const every = this.names.map((_, i) => i);
    const weights = shape.map((_, mode) => shape.slice(mode + 1).reduce((size, extent) => size * extent, 1));
    for (let element = from; element < Math.min(this.count, from + PIECE); element++) {
      let [rest, old] = [element, 0];
      for (let i = order.length - 1; i >= 0; i--) {
        const extent = shape[order[i]!]!;
        old += (rest % extent) * weights[order[i]!]!;
        rest = Math.floor(rest / extent);
      }
      if (!this.stays(old, element, every)) return false;
    }
    return true;
  }

  /** The step by which every place moves; null where they differ. */
  private shift(): string | null {
    const { here, there } = this;
    if (this.first.copies !== this.second.copies) return null;
    const steps = this.names.map((_, axis) => there[axis]![0]! - here[axis]![0]!);
    for (let at = 0; at < here[0]!.length; at++) {
      if (!steps.every((step, axis) => there[axis]![at]! - here[axis]![at]! === step)) return null;
    }
    return this.names.flatMap((name, axis) => (steps[axis] ? [`${steps[axis]}@${name}`] : [])).join(" + ");
  }

  private *moves(moving: number): Work<string> {
    const along: { name: string; kind: string; count: number }[] = [];
    for (const [axis, name] of this.names.entries()) {
      const count = this.names.length > 1 ? yield* this.moving([axis]) : moving;
      if (count) along.push({ name, kind: this.kindOf(name), count });
    }
    const farthest = [...BETWEEN.keys()].find((kind) => along.some((axis) => axis.kind === kind));
    const how = farthest === undefined ? "" : ` ${BETWEEN.get(farthest)}`;
    const told = along.map(({ name, count }) => `${count} along ${name}`).join(", ");
    const staying = this.count - moving;
    const all = moving > 1 ? `All ${moving} elements move` : "The element moves";
    const many = staying ? `${moving} of ${this.count} elements move${moving === 1 ? "s" : ""}` : all;
    const stay = staying === 1 ? "stays where it is" : "stay where they are";
    const rest = staying ? `; ${staying} ${stay}` : "";
    return `${many}${how}${told ? `: ${told}` : ""}${rest}.${this.copies()}`;
  }

  /** Whether what one lives in and what the other lives in are two things, and no element goes far. */
  private *changesStorage(): Work<boolean> {
    const [ours, theirs] = [storageOf(this.first), storageOf(this.second)];
    if (!ours.length || !theirs.length || ours.some((name) => theirs.includes(name))) return false;
    for (const [axis, name] of this.names.entries()) {
      if (["device", "cta"].includes(this.kindOf(name)) && (yield* this.moving([axis]))) return false;
    }
    return true;
  }

  private copies(): string {
    const [here, there] = [this.first.copies, this.second.copies];
    return here === there ? "" : ` Every element has ${there} place${there === 1 ? "" : "s"} instead of ${here}.`;
  }

  private kindOf(name: string): string {
    return kindOf(name, [...this.first.axes, ...this.second.axes]);
  }
}

/** How far an element goes along an axis of that name. */
function kindOf(name: string, axes: readonly Axis[]): string {
  const axis = axes.find((own) => own.name === name);
  return KIND.get(name) ?? (axis?.kind === "storage" ? "memory" : "device");
}

/** The axes of what its elements live in. */
function storageOf(scene: Scene): string[] {
  const names = scene.axes.filter(({ low, high }) => low || high).map((axis) => axis.name);
  return names.filter((name) => ["register", "memory"].includes(kindOf(name, scene.axes)));
}

/** The places of both by axis, threads by their parts where they are not named alike, and whether so. */
function spelledAlike(first: Scene, second: Scene): [Columns, Columns, boolean] {
  const [ours, theirs] = [columnsByName(first), columnsByName(second)];
  const apart = [...THREADS.keys()].some((name) => ours.has(name) !== theirs.has(name));
  if (apart && [...first.axes, ...second.axes].every(isOfWarps)) {
    const [here, there] = [parted(ours), parted(theirs)];
    if (here && there) return [here, there, true];
  }
  return [ours, theirs, false];
}

function columnsByName(scene: Scene): Columns {
  return new Map(scene.axes.map((axis) => [axis.name, scene.places[axis.name]!]));
}

/** Whether it counts as warps of 32 lanes do; a wave has more. */
function isOfWarps(axis: Axis): boolean {
  return axis.low >= 0 && (axis.name !== "laneid" || axis.high < WARP);
}

/** The places with axes of threads in parts; null where one is named beside a part of it. */
function parted(places: Columns): Columns | null {
  const found = new Map<string, ArrayLike<number>>();
  for (const [name, column] of places) {
    const parts = THREADS.get(name) ?? [[name, 0, 0] as const];
    for (const [part, each, end] of parts) {
      if (found.has(part)) return null;
      found.set(part, each ? Float64Array.from(column, (number) => Math.floor(number / each) % end) : column);
    }
  }
  return found;
}

/** All orders of so many modes, the order they are in first. */
function orders(modes: number): number[][] {
  if (!modes) return [[]];
  const insert = (order: readonly number[], at: number): number[] => [...order.slice(0, at), modes - 1, ...order.slice(at)];
  const found = orders(modes - 1).flatMap((order) => Array.from({ length: modes }, (_, at) => insert(order, at)));
  return found.sort((a, b) => (String(a) < String(b) ? -1 : 1));
}
