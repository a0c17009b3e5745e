/** What can be copied of a layout, each in the words of those who read it. */

import { cudaIndex, print, pythonText, spelledSwizzle, spelledVector, type Layout, type Vector } from "../core";
import { printCute } from "../notation";
import type { Copyable } from "./menu";

/** The texts of a layout, and the address of the page that shows it. */
export function copyable(layout: Layout | null, link: string): Copyable[] {
  const own = layout ? ofLayout(layout) : [];
  return [...own, { name: "permalink", text: link }];
}

function ofLayout(layout: Layout): Copyable[] {
  const found: Copyable[] = [
    { name: "notation", text: print(layout) },
    { name: "Python", text: pythonText(layout) },
  ];
  const cute = printCute(layout);
  if (cute !== null) found.push({ name: "CuTe", text: cute });
  const cuda = cudaIndex(layout);
  if (cuda !== null) found.push({ name: "CUDA", text: cuda });
  found.push({ name: "Markdown", text: markdown(layout) });
  return found;
}

/** The expression, and a table of its terms, as Python's `to_markdown`. */
export function markdown(layout: Layout): string {
  const rows = [
    ...layout.digits.map((digit, i) => [`digit ${i}`, String(digit.extent), spelledVector(digit.stride)]),
    ...layout.replica.map((iter) => ["copies", String(iter.extent), spelledVector(iter.stride)]),
    ...row("offset", layout.offset),
    ...layout.swizzles.map((swizzle) => ["swizzle", "", spelledSwizzle(swizzle)]),
    ...row("outer offset", layout.outer),
  ];
  return [
    `\`${print(layout)}\``,
    "",
    "| term | extent | stride |",
    "| --- | ---: | --- |",
    ...rows.map(([name, extent, stride]) => `| ${name} | ${extent} | \`${stride}\` |`),
  ].join("\n");
}

function row(name: string, vector: Vector): string[][] {
  return Object.keys(vector).length ? [[name, "", spelledVector(vector)]] : [];
}
