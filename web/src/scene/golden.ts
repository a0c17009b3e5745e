/** What Python draws of many layouts, held against this builder: for tests, not in the bundle. */

import { LayoutError, type Layout, type Shape } from "../core";
import { read } from "../notation";
import { documentWork, jsonOf, sceneOf, type Options } from "./build";
import type { Window } from "./logical";
import { atOnce } from "./pieces";
import type { Document } from "./types";
import { whyOf } from "./why";

type Nested = number | readonly Nested[];

interface Case {
  e: string;
  e2?: string;
  dtype?: string;
  shape?: readonly Nested[];
  window?: Window;
  access?: string;
  base?: number;
  document?: Document;
  /** Code, message and hint; the hints of a page are its own. */
  refused?: readonly [string, string, string];
  why?: Readonly<Record<string, readonly (readonly string[])[]>>;
}

/** The file of golden scenes. */
export interface GoldenScenes {
  storage: readonly string[];
  cases: readonly Case[];
}

/** Every difference in a line: what was asked, what Python says, what is said here. */
export function sceneDifferences(golden: GoldenScenes): string[] {
  return golden.cases.flatMap((asked) => {
    const { document, refused, why, ...question } = asked;
    const said = JSON.stringify(question);
    const found = answer(asked, golden.storage);
    if (found instanceof LayoutError) {
      const here = `${found.code} ${found.message}`;
      const there = refused ? `${refused[0]} ${refused[1]}` : "a document";
      return here === there ? [] : [`${said}: ${there} in Python, ${here} here`];
    }
    if (!document) return [`${said}: ${refused?.join(" ")} in Python, a document here`];
    const drawn = firstDifference(document, JSON.parse(jsonOf(found.document)), "document");
    const told = Object.entries(why ?? {}).flatMap(([flat, steps]) => {
      const here = whyOf(found.layout, BigInt(flat)).map(({ name, lines }) => [name, ...lines]);
      return firstDifference(steps, here, `why ${flat}`);
    });
    return [...drawn, ...told].map((difference) => `${said}: ${difference}`);
  });
}

function answer(asked: Case, storage: readonly string[]): { document: Document; layout: Layout } | LayoutError {
  try {
    const texts = asked.e2 === undefined ? [asked.e] : [asked.e, asked.e2];
    const layouts = texts.map((text) => read(text, { storage }));
    const { dtype = null, window = null, access = null, base = 0 } = asked;
    const shape = asked.shape ? (asked.shape.map(exact) as Shape) : null;
    const options: Options = { dtype, window, access, base, shape };
    return { document: atOnce(documentWork(layouts.map((layout) => sceneOf(layout, options)))), layout: layouts[0]! };
  } catch (error) {
    if (error instanceof LayoutError) return error;
    throw error;
  }
}

function exact(mode: Nested): Shape[number] {
  return typeof mode === "number" ? BigInt(mode) : mode.map(exact);
}

/** The first place at which two values differ. */
function firstDifference(there: unknown, here: unknown, where: string): string[] {
  if (typeof there !== "object" || typeof here !== "object" || there === null || here === null) {
    return there === here ? [] : [`${where}: ${JSON.stringify(there)} in Python, ${JSON.stringify(here)} here`];
  }
  const names = [...new Set([...Object.keys(there), ...Object.keys(here)])];
  for (const name of names) {
    const [one, other] = [there, here].map((value) => (value as Readonly<Record<string, unknown>>)[name]);
    const found = firstDifference(one, other, `${where}.${name}`);
    if (found.length) return found;
  }
  return [];
}
