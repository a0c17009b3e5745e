/**
 * Two palettes of eight colours, the hues of Okabe and Ito: orange, green, sky, blue, yellow, vermilion, grey,
 * purple.
 *
 * Texts on them have a contrast of 4.5 or more. Any two of a row are apart by 6.5 or more in OKLab (x 100), also
 * as seen without one of the three kinds of cones (Machado, Oliveira and Fernandes 2009). Colours whose cells
 * meet are as far apart in lightness alone, as a grey print has them: neighbours in the order, and the pairs
 * under a swizzle, whose numbers differ by an XOR of 1, 3 or 7. A test holds all three.
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
  fills: ["#fbc267", "#75b28f", "#c9efff", "#84baf6", "#fff2a0", "#d97d42", "#cdc8bf", "#d8a3c8"],
  strong: ["#feb028", "#0eae6c", "#73c5ff", "#005ca7", "#f3fe65", "#c54406", "#787878", "#d978bf"],
};

const DARK = {
  paper: "#14161a",
  ink: "#f5f6f8",
  quiet: "#9aa1ad",
  rule: "#343941",
  empty: "#1c1f24",
  fills: ["#723d00", "#3b664c", "#0576b5", "#1f366c", "#6e7610", "#6a1d19", "#444b55", "#844684"],
  strong: ["#feb21a", "#07b273", "#46c2ff", "#6381c2", "#f4ff8c", "#ee5f04", "#cbcbcb", "#d891bd"],
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
