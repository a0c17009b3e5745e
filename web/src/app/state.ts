/**
 * What the page shows, as the fragment of its address: `#1&e=S[(8,8):(8,1)]&d=bf16`.
 *
 * The first field is the version. Values are readable: `~` is a space, `{` and `}` are `<` and `>`, which
 * browsers would escape; whatever else an address has a use for is percent-encoded. Spaces of expressions
 * that say nothing are left out, and come back as the notation prints them.
 */

import { looksForeign } from "./convert";
import { spaced, tight } from "./spacing";

export const VERSION = 1;
export const LONGEST = 20_000;
const MOST_PINS = 256;

export type Theme = "light" | "dark";

export interface State {
  v: 1;
  /** The expression, and one beside it. */
  e: string;
  e2?: string;
  /** dtype, access, shape to ask in, window of rows and columns. */
  d?: string;
  a?: string;
  s?: string;
  w?: string;
  /** The preset that this is, its choices after dots. */
  p?: string;
  /** The elements that are pinned, and the step. */
  i?: readonly number[];
  c?: number;
  t?: Theme;
}

const TEXTS = ["e", "e2", "d", "a", "s", "w", "p"] as const;
const EXPRESSIONS: readonly string[] = ["e", "e2"];

/** The address of a state: fields that say nothing are left out, and their order is always the same. */
export function toFragment(state: State): string {
  const fields = [String(VERSION)];
  for (const name of TEXTS) {
    const text = state[name];
    if (text) fields.push(`${name}=${escaped(isOwn(name, text) ? tight(text) : text)}`);
  }
  if (state.i?.length) fields.push(`i=${runs(state.i)}`);
  if (state.c !== undefined) fields.push(`c=${state.c}`);
  if (state.t) fields.push(`t=${state.t}`);
  return `#${fields.join("&")}`;
}

/** Whether a field is an expression of the notation; lines and spaces of other systems stay as they are. */
function isOwn(name: string, text: string): boolean {
  return EXPRESSIONS.includes(name) && !looksForeign(text);
}

/** The state of an address, an old one too; an Error in words where it is none. */
export function fromFragment(text: string): State | Error {
  if (text.length > LONGEST) return new Error(`this link has ${text.length} characters; ${LONGEST} are read`);
  try {
    const [version, fields] = versionOf(text.replace(/^#/, ""));
    const found = (MIGRATIONS.slice(version) as Migration[]).reduce((old, migrate) => migrate(old), fields);
    return stateOf(found);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

type Fields = ReadonlyMap<string, string>;
type Migration = (old: Fields) => Fields;

/** From version n to n + 1. Version 0 was the bare expression, which is still easy to write by hand. */
const MIGRATIONS: readonly Migration[] = [(old) => old];

function versionOf(text: string): [number, Fields] {
  const [head = "", ...rest] = text.split("&");
  if (!/^\d+$/.test(head)) return [0, new Map([["e", unescaped(text)]])];
  const version = Number(head);
  if (version > VERSION) {
    throw new Error(`this link has version ${head}, and this page reads up to ${VERSION}: a later tilewise made it`);
  }
  const fields = new Map<string, string>();
  for (const field of rest.filter((part) => part !== "")) {
    const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(field) ?? [];
    if (fields.has(name)) throw new Error(`this link says '${name}' twice`);
    fields.set(name, unescaped(value));
  }
  return [version, fields];
}

function stateOf(fields: Fields): State {
  const state: State = { v: 1, e: "" };
  for (const [name, value] of fields) {
    if (isOwn(name, value)) state[name as "e" | "e2"] = spaced(value);
    else if ((TEXTS as readonly string[]).includes(name)) state[name as "d"] = value;
    else if (name === "i") state.i = indices(value);
    else if (name === "c") state.c = natural(value, "a step");
    else if (name === "t" && (value === "light" || value === "dark")) state.t = value;
    else throw new Error(`this link has '${name}=${value.slice(0, 40)}', which this page does not know`);
  }
  return state;
}

function natural(text: string, what: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`'${text.slice(0, 40)}' in this link is not ${what}`);
  return Number(text);
}

/** `0,8..11`: neighbours as a run. */
function runs(pins: readonly number[]): string {
  const found: [number, number][] = [];
  for (const pin of [...new Set(pins)].sort((a, b) => a - b).slice(0, MOST_PINS)) {
    const last = found[found.length - 1];
    if (last && pin === last[1] + 1) last[1] = pin;
    else found.push([pin, pin]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}..${to}`)).join(",");
}

function indices(text: string): number[] {
  const found: number[] = [];
  for (const run of text.split(",")) {
    const [from = "", to = from] = run.split("..");
    const last = natural(to, "an element");
    for (let pin = natural(from, "an element"); pin <= last && found.length < MOST_PINS; pin++) found.push(pin);
  }
  return [...new Set(found)].sort((a, b) => a - b);
}

const READABLE = /[\w.,:;=@()[\]+*/!?$'-]/;
const STAND_INS: Readonly<Record<string, string>> = { " ": "~", "<": "{", ">": "}" };

function escaped(text: string): string {
  const sound = text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
  return [...sound].map((c) => STAND_INS[c] ?? (READABLE.test(c) ? c : percent(c))).join("");
}

function percent(character: string): string {
  const bytes = new TextEncoder().encode(character);
  return [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

function unescaped(text: string): string {
  const plain = text.replace(/~/g, " ").replace(/\{/g, "<").replace(/\}/g, ">");
  try {
    return decodeURIComponent(plain);
  } catch {
    throw new Error("this link is broken: a % in it is not followed by the digits of a character");
  }
}
