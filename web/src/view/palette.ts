/**
 * Two palettes of eight colours, in the order of Okabe and Ito: orange, sky, green, yellow, blue, vermilion,
 * purple, grey.
 *
 * Texts on them have a contrast of 4.5 or more. Any two of a row are apart by 6.5 or more in OKLab (x 100), also
 * as seen without one of the three kinds of cones (Machado, Oliveira and Fernandes 2009); a test holds both.
 */

export interface Palette {
  name: "light" | "dark";
  paper: string;
  ink: string;
  /** Words that are not the matter, and what stands in faded cells. */
  quiet: string;
  rule: string;
  /** A cell that holds nothing. */
  empty: string;
  fills: readonly string[];
  /** Of pinned cells, with what stands on them. */
  strong: readonly string[];
  strongText: readonly string[];
  faded: readonly string[];
  /** The same as pixels: of the paper, and of each rank of `Lit.rank`. */
  packed: { paper: number; ranks: Uint32Array };
}

const LIGHT = {
  paper: "#ffffff",
  ink: "#16191f",
  quiet: "#5c6370",
  rule: "#d9dce1",
  empty: "#f4f5f7",
  fills: ["#fbbe63", "#c9efff", "#74b390", "#fff2a0", "#86bcf6", "#d97d42", "#d9a3c9", "#cdc8bf"],
  strong: ["#feb028", "#73c5ff", "#0eae6c", "#f3fe65", "#005ca7", "#c54406", "#d978bf", "#787878"],
};

const DARK = {
  paper: "#14161a",
  ink: "#f5f6f8",
  quiet: "#9aa1ad",
  rule: "#343941",
  empty: "#1c1f24",
  fills: ["#7d4a01", "#0273b4", "#3e6d55", "#6c740a", "#20376d", "#742b20", "#8b508a", "#4a525c"],
  strong: ["#feb21a", "#46c2ff", "#07b273", "#f4ff8c", "#6381c2", "#ee5f04", "#d891bd", "#cbcbcb"],
};

/** How much of its colour a faded cell keeps. */
const FADE = 0.2;
const BLACK = "#000000";
const WHITE = "#ffffff";

/** The palette of each theme. */
export const PALETTES = { light: palette("light", LIGHT), dark: palette("dark", DARK) };

function palette(name: "light" | "dark", colours: typeof LIGHT): Palette {
  const faded = colours.fills.map((fill) => mixed(fill, colours.paper, FADE));
  const ranks = [colours.empty, ...faded, ...colours.fills, ...colours.strong];
  return {
    ...colours,
    name,
    faded,
    strongText: colours.strong.map((fill) => (contrast(fill, BLACK) > contrast(fill, WHITE) ? BLACK : WHITE)),
    packed: { paper: packed(colours.paper), ranks: Uint32Array.from(ranks, packed) },
  };
}

/** The contrast of two colours, 1 to 21 (WCAG 2). */
export function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(colour: string): [number, number, number] {
  const bits = Number.parseInt(colour.slice(1), 16);
  return [bits >> 16, (bits >> 8) & 255, bits & 255];
}

function mixed(colour: string, paper: string, part: number): string {
  const other = channels(paper);
  const sum = channels(colour).map((channel, i) => Math.round(channel * part + other[i]! * (1 - part)));
  return `#${sum.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

/** As a pixel of ImageData, of which the lowest byte is red. */
function packed(colour: string): number {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
