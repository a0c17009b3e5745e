/** Calls of the hardware's catalogue, such as `wgmma.D(f32, n=64)`; the table is Python's. */

import { LayoutError, Unfinished, closest, type Resolved, type Suggestion } from "./kit";
import table from "./catalogue.json";

interface Entry {
  name: string;
  summary: string;
  parameters: readonly string[];
}

interface Row {
  call: string;
  dtype: string;
  layout: string;
}

const CALL = /^(\s*)([a-z]\w*(?:\.\w*)*)\s*(?:\(([^()]*)(\)?)|$)/i;
/** So many ways to go on are said. */
const FEW = 4;
/** How much of a word and an entry's name is alike, where one is meant by the other. */
const ALIKE = 0.7;

/** Templates of layouts, or the entry that has the same. */
type Layouts = readonly (readonly [template: string, dtype: string, rows: string])[] | string;
type Table = readonly (readonly [name: string, summary: string, parameters: string, layouts: Layouts])[];

const TABLE = table as unknown as Table;
const ENTRIES: ReadonlyMap<string, Entry> = new Map(
  TABLE.map(([name, summary, parameters]) => [name, { name, summary, parameters: parameters.split(" ") }]),
);
const LAYOUTS: ReadonlyMap<string, Layouts> = new Map(TABLE.map(([name, , , layouts]) => [name, layouts]));
const ROWS: readonly Row[] = [...ENTRIES.values()].flatMap((entry) =>
  layoutsOf(entry.name).flatMap(([template, dtype, rows]) =>
    rows.split(";").flatMap((row) => spelledOut(entry, template, dtype, row)),
  ),
);
const BY_KEY: ReadonlyMap<string, Row> = new Map(ROWS.map((row) => [keyed(row.call), row]));

/** The text with the call at its beginning replaced; a call that the table does not have is a LayoutError. */
export function resolve(text: string): Resolved {
  const [whole, lead = "", name = "", given, closed] = CALL.exec(text) ?? [];
  const entry = ENTRIES.get(name);
  const near = entry || whole === undefined ? undefined : nearest(name);
  const own = !/^[a-z]\w*\./.test(name); // a word that may be of the notation
  if (whole === undefined || (!entry && own && !near && !begunBy(name).length)) {
    return { text, dtype: null, spanOf: ([from, to]) => [from, to] };
  }
  const span: [number, number] = [lead.length, whole.trimEnd().length];
  if (!closed) {
    const ways = waysOn(text, given === undefined ? begunBy(name) : []);
    if (ways.length) throw new Unfinished(ways);
  }
  if (!entry) {
    const hint = near ? `did you mean ${near}?` : `it has ${[...ENTRIES.keys()].join(", ")}`;
    throw error(`the catalogue has no entry ${name}`, hint, [lead.length, lead.length + name.length], text);
  }
  if (!closed) throw error(`the call of ${name} does not end`, "')' closes it", span, text);
  const row = BY_KEY.get(keyOf(entry, given!));
  if (!row) throw notHere(entry, given!, span, text);
  const length = whole.length;
  const moved = row.layout.length - length;
  return {
    text: row.layout + text.slice(length),
    dtype: row.dtype || null,
    spanOf: ([from, to]) =>
      from < row.layout.length ? span : [Math.max(length, from - moved), Math.max(length, to - moved)],
  };
}

function layoutsOf(name: string): Exclude<Layouts, string> {
  const found = LAYOUTS.get(name)!;
  return typeof found === "string" ? layoutsOf(found) : found;
}

/** Names of entries that begin with a word. */
function begunBy(word: string): string[] {
  return [...ENTRIES.keys()].filter((name) => name.startsWith(word));
}

/** How a text may go on: the names of several entries, or the calls of one. */
function waysOn(text: string, names: readonly string[]): readonly string[] {
  if (names.length > 1) return names;
  return names.length || text.includes("(") ? suggestions(text, FEW).map((way) => way.text) : [];
}

/** Why the table has no such call: it is none, or of values that are not usual. */
function notHere(entry: Entry, given: string, span: [number, number], text: string): LayoutError {
  const rows = callsOf(entry.name).map((row) => argumentsOf(entry.parameters, row.call.slice(entry.name.length + 1, -1)));
  const values = [...argumentsOf(entry.parameters, given)];
  const names = entry.parameters.map(nameOf);
  const foreign = values.find(([name]) => !names.includes(name));
  if (foreign) return error(`${entry.name} has no parameter ${foreign[0]}`, `it has ${names.join(", ")}`, span, text);
  const missing = entry.parameters.filter((parameter) => !/[=?]/.test(parameter) && !values.some(([name]) => name === parameter));
  if (missing.length) return error(`${entry.name} needs ${missing.join(" and ")}`, `such as ${shown(entry)}`, span, text);
  const odd = values.find(([name, value]) => !rows.some((row) => row.get(name)?.toLowerCase() === value.toLowerCase()));
  const what = odd ? `${entry.name} with ${odd.join("=")}` : `${entry.name}(${given.trim()})`;
  const call = text.slice(...span);
  const quoted = /['\\\n]/.test(call) ? shown(entry) : call;
  const hint = `it has usual calls, such as ${shown(entry)}; tilewise explore '${quoted}' opens it on any other, tilewise show draws it`;
  return error(`this page has no ${what}`, hint, span, text);
}

/** The layout of a call, or of `wgmma.D:f32:n64`, whose type is the tile's where none is said; null of no entry. */
export function layoutOf(text: string, dtype: string): string | null {
  const [name = "", ...words] = text.split(/\s*[:(]\s*/);
  const entry = ENTRIES.get(name);
  if (!entry) return null;
  if (text.includes("(")) return resolve(text).text;
  const values = words.map((word) => word.replace(/^(n|k|rows)(\d+)$/, "$1=$2"));
  const bare = values.filter((value) => !value.includes("=")).length;
  const isSaid = values.some((value) => value.startsWith("dtype="));
  if (!isSaid && entry.parameters.findIndex((parameter) => nameOf(parameter) === "dtype") >= bare) values.push(`dtype=${dtype}`);
  return resolve(`${name}(${values.join()})`).text;
}

/** Calls that begin as the text does, or whose words do: at most so many. */
export function suggestions(text: string, most = 8): Suggestion[] {
  const [, , name] = CALL.exec(text) ?? [];
  if (name === undefined || /\)/.test(text)) return [];
  const typed = text.toLowerCase().replace(/\s/g, "");
  const small = name === "S" ? name : name.toLowerCase(); // S begins a layout
  const entries = [...ENTRIES.values()].filter((entry) => entry.name.toLowerCase().startsWith(small));
  const exact = ROWS.filter((row) => keyed(row.call).startsWith(typed));
  if (entries.length > 1 && !typed.includes("(")) {
    return entries.slice(0, most).map((entry) => ({ text: shown(entry), words: entry.summary }));
  }
  return exact.slice(0, most).map((row) => ({ text: row.call, words: summaryOf(row) }));
}

/** Every call that the page knows. */
export function calls(): readonly Row[] {
  return ROWS;
}

function shown(entry: Entry): string {
  const own = callsOf(entry.name);
  const usual = own.find((row) => /\b(f16, n=64|f32, m=128, n=64\)|f16, m=128\)|m16n8k16, dtype=f16|x4\)|128B, dtype=bf16, rows=128, k=64)/.test(row.call));
  return (usual ?? own[0])?.call ?? entry.name;
}

function callsOf(name: string): Row[] {
  return ROWS.filter((row) => row.call.startsWith(`${name}(`));
}

function summaryOf(row: Row): string {
  return ENTRIES.get(row.call.slice(0, row.call.indexOf("(")))?.summary ?? "";
}

/** The calls of a row: numbers of the template, then for each parameter what it may be. */
function spelledOut(entry: Entry, template: string, dtype: string, row: string): Row[] {
  const words = row.split(" ");
  const letters = new Set(template.match(/(?<=\{)[a-c](?=\})/g)).size;
  const numbers = words.splice(0, letters).map(Number);
  let every: Map<string, string>[] = [new Map()];
  words.forEach((word, at) => {
    const name = nameOf(entry.parameters[at]!);
    const options = word.split("|").flatMap(ranged);
    every = every.flatMap((values) =>
      options.map((option) => (/^-?$/.test(option) ? values : new Map(values).set(name, option))),
    );
  });
  return every.map((values) => ({
    call: callOf(entry, values),
    dtype: dtype === "-" ? "" : dtype || values.get("dtype") || "",
    layout: template.replace(/\{(\d*)([a-z]+)(?:\/(\w))?\}/g, (_, factor: string, names: string, divisor?: string) => {
      const value = (name: string): number => numbers["abc".indexOf(name)] ?? Number(values.get(name) ?? name);
      if (divisor) return String(value(names) / value(divisor));
      return String([...names].reduce((product, name) => product * value(name), Number(factor || 1)));
    }),
  }));
}

/** The words of one: `8..32/8` is 8, 16, 24, 32. */
function ranged(word: string): string[] {
  const [, first, last, step] = /^(\d+)\.\.(\d+)\/(\d+)$/.exec(word) ?? [word];
  if (!step) return [word];
  const found: string[] = [];
  for (let one = Number(first); one <= Number(last); one += Number(step)) found.push(String(one));
  return found;
}

/** The call as the table spells it, small and without spaces. */
function keyOf(entry: Entry, given: string): string {
  return keyed(callOf(entry, argumentsOf(entry.parameters, given)));
}

function keyed(call: string): string {
  return call.toLowerCase().replace(/ /g, "");
}

/** A call: the first value bare, others by name, defaults left out. */
function callOf(entry: Entry, given: ReadonlyMap<string, string>): string {
  const values = new Map(given);
  const words: string[] = [];
  entry.parameters.forEach((parameter, at) => {
    const name = nameOf(parameter);
    const value = values.get(name);
    values.delete(name);
    if (value === undefined || parameter === `${name}=${value}`) return;
    words.push(parameter.endsWith("?") ? name : at === 0 ? value : `${name}=${value}`);
  });
  for (const [name, value] of values) words.push(`${name}=${value}`); // no such parameter: no such row
  return `${entry.name}(${words.join(", ")})`;
}

/** {parameter: value} of what stands between the parentheses. */
function argumentsOf(parameters: readonly string[], given: string): Map<string, string> {
  const values = new Map<string, string>();
  given.split(",").forEach((argument, at) => {
    const [name = "", value] = argument.split("=").map((part) => part.trim());
    if (name === "") return;
    if (value !== undefined) values.set(name, value);
    else if (parameters.includes(`${name}?`)) values.set(name, "true");
    else values.set(nameOf(parameters[at] ?? `more than ${parameters.length}`), name);
  });
  return values;
}

function nameOf(parameter: string): string {
  return parameter.replace(/[=?].*$/, "");
}

/** The entry that is probably meant by a name that is none. */
function nearest(name: string): string | undefined {
  const small = new Map([...ENTRIES.keys()].map((known) => [known.toLowerCase(), known]));
  const word = name.toLowerCase();
  return small.get(word) ?? small.get(closest(word, small.keys(), ALIKE) ?? "");
}

function error(message: string, hint: string, span: [number, number], text: string): LayoutError {
  return new LayoutError("TW601", message, hint, span, text);
}
