/** Work in pieces, between which a page may draw and hear; what is small is one piece. */

/** Where others may go first it yields how many places it is about. */
export type Work<T> = Generator<number, T>;

/** So many places are looked at in a piece. */
export const PIECE = 1 << 16;

/** Visit the numbers below `count`, from one up to and without another; others may go first after each. */
export function* inPieces(count: number, visit: (from: number, to: number) => void): Work<void> {
  for (let from = 0; from < count; from += PIECE) {
    visit(from, Math.min(count, from + PIECE));
    yield* pause(count);
  }
}

/** Others may go first, where work is about so many places. */
export function* pause(count: number): Work<void> {
  if (count > PIECE) yield count;
}

/** All of it at once. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
