/** A scene, as `tilewise.pictures.scene.model` has it: the two files say the same. */

export const SCHEMA = 1;

/** Value at x: ((x * scale - subtract) // divide % modulo) * multiply; modulo 0 is none. */
export interface Term {
  axis: string;
  subtract: number;
  scale: number;
  divide: number;
  modulo: number;
  multiply: number;
}

/** The sum of its terms. */
export type Rule = readonly Term[];

/** Number at a position i of a row, column or block: ((i + start) // divide % modulo) * multiply + low. */
export interface Head {
  name: string;
  start: number;
  divide: number;
  modulo: number;
  multiply: number;
  low: number;
}

/** The numbers of a head, outermost first. */
export type Heads = readonly Head[];

export interface Axis {
  name: string;
  kind: "storage" | "owner" | "device";
  low: number;
  high: number;
}

export interface Panel {
  id: string;
  kind: "index" | "memory" | "registers" | "tensor memory" | "mesh" | "places";
  title: string;
  blocks: readonly [number, number];
  cells: readonly [number, number];
  row: Rule;
  column: Rule;
  block_row: Rule;
  block_column: Rule;
  slot: Rule;
  slots: number;
  row_name: string;
  column_name: string;
  block_name: string;
  text: "places" | "index";
  /** Cells of a row that an element takes, from its own on. */
  width: number;
  row_heads: Heads;
  column_heads: Heads;
  block_row_heads: Heads;
  block_column_heads: Heads;
}

/** A word that the hardware is given, such as a descriptor, bit by bit. */
export interface Encoded {
  name: string;
  /** How many bits it has. */
  width: number;
  /** All of it, such as 0x4000004000010000. */
  value: string;
  /** From the lowest bits up; bits of none are reserved. */
  fields: readonly Field[];
}

export interface Field {
  name: string;
  low: number;
  high: number;
  held: number;
  /** What it says, in words. */
  words: string;
}

export interface Step {
  title: string;
  /** Their flat indices; none where all do. */
  elements: readonly number[];
  lanes: readonly number[];
  cost: number | null;
  copies: number | null;
  note: string;
  /** What the hardware is told in it; null where nothing is. */
  encoded: Encoded | null;
}

export interface Note {
  kind: "fact" | "yes" | "no" | "hint";
  text: string;
}

export interface Colour {
  rule: Term;
  words: string;
}

export interface Scene {
  title: string;
  expression: string;
  shape: readonly number[];
  /** The extents of the modes that are rows of the logical grid; those of the columns. */
  rows: readonly number[];
  columns: readonly number[];
  window: readonly [readonly [number, number], readonly [number, number]];
  copies: number;
  axes: readonly Axis[];
  /** places[axis][e * copies + c] is where copy c of the e-th element of the window is. */
  places: Readonly<Record<string, ArrayLike<number>>>;
  colour: Colour;
  panels: readonly Panel[];
  dtype: string | null;
  bits: number | null;
  base: number;
  access: string | null;
  steps: readonly Step[];
  notes: readonly Note[];
  /** How flat indices count. */
  order: "row" | "cute";
}

export interface Document {
  schema: 1;
  kind: "tilewise.scene";
  title: string;
  words: string;
  scenes: readonly Scene[];
}
