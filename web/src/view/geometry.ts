/** Where cells are in pixels: blocks of cells with gaps between blocks, at any zoom. */

/** One direction: `count` blocks of `cells` cells of `pitch` pixels, `gap` between blocks. */
export class Line {
  readonly total: number;

  constructor(
    readonly count: number,
    readonly cells: number,
    readonly pitch: number,
    readonly gap: number,
  ) {
    this.total = count * cells;
  }

  get length(): number {
    return this.total * this.pitch + (this.count - 1) * this.gap;
  }

  /** Where cell `at` begins. */
  start(at: number): number {
    return at * this.pitch + Math.floor(at / this.cells) * this.gap;
  }

  /** The cell at a pixel; in a gap, or outside, -1. */
  at(pixel: number): number {
    const near = this.near(pixel);
    const inside = pixel - this.start(near);
    return inside >= 0 && inside < this.pitch ? near : -1;
  }

  /** The cell nearest to a pixel. */
  near(pixel: number): number {
    const whole = this.cells * this.pitch + this.gap;
    const block = clamp(Math.floor(pixel / whole), 0, this.count - 1);
    const inside = Math.floor((pixel - block * whole) / this.pitch);
    return block * this.cells + clamp(inside, 0, this.cells - 1);
  }

  /** The same line with cells larger by a factor, but not beyond what they need. */
  grown(factor: number, most: number): Line {
    const pitch = Math.min(this.pitch * factor, Math.max(this.pitch, most));
    return new Line(this.count, this.cells, pitch, this.gap);
  }
}

/** x, not below low nor above high. */
export function clamp(x: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, x));
}

/** A panel of many cells wants so much of the width that it likes before others stand beside it. */
const WANTED = 0.4;

/** Widths of panels side by side: what they like, less where it is too much, wrapped where it must be. */
export function widths(liked: readonly number[], available: number, gap: number): number[] {
  const floors = liked.map((width) => Math.min(width, available, clamp(width * WANTED, 270, 420)));
  const given: number[] = [];
  for (let first = 0; first < liked.length; ) {
    let last = first;
    let used = floors[first]!;
    while (last + 1 < liked.length && used + gap + floors[last + 1]! <= available) {
      used += gap + floors[++last]!;
    }
    let wish = gap * (last - first);
    for (let i = first; i <= last; i++) wish += liked[i]!;
    const share = wish > used ? clamp((available - used) / (wish - used), 0, 1) : 0;
    for (let i = first; i <= last; i++) given.push(Math.floor(floors[i]! + (liked[i]! - floors[i]!) * share));
    first = last + 1;
  }
  return given;
}
