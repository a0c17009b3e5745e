/** A word that the hardware is given, bit by bit: a strip as long as its bits, and a line for each field. */

import type { Encoded } from "../scene/types";
import { make, short } from "./dom";

/** The word as a table, from its highest bits down; the strip above says to the eye how wide fields are. */
export function encodedTable({ name, width, value, fields }: Encoded): HTMLElement {
  const strip = make("span", { class: "strip", "aria-hidden": "true" });
  const rows: HTMLElement[] = [];
  const piece = (bits: number, colour: string, text: string): void => {
    const own = make("span", { class: colour }, text);
    own.style.flexGrow = String(bits);
    if (bits) strip.append(own);
  };
  let above = width;
  [...fields].reverse().forEach((field, at) => {
    const { low, high, held, words } = field;
    const [colour, count] = [`s${at % 8}`, high - low + 1];
    piece(above - high - 1, "", "");
    piece(count, colour, String(held));
    above = low;
    const range = make("b", { class: colour }, count > 1 ? `${high}–${low}` : String(low));
    const cells = [held, short(words, 200)].map((text) => make("td", {}, String(text)));
    rows.push(make("tr", {}, make("th", { scope: "row" }, range, short(field.name, 60)), ...cells));
  });
  piece(above, "", "");
  const title = make("caption", {}, `${short(name, 60)} `, make("code", {}, short(value, 80)), strip);
  return make("table", { class: "word" }, title, make("tbody", {}, ...rows));
}
