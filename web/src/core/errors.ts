/** What is refused: a code, what was asked, what to do, and where in the text. */

/** From and to in a text, as `slice` counts. */
export type Span = [number, number];

/** A value or a text that is refused; the twin of Python's `LayoutError`. */
export class LayoutError extends Error {
  override readonly name = "LayoutError";

  constructor(
    readonly code: string,
    message: string,
    readonly hint = "",
    public span: Span | null = null,
    public text = "",
  ) {
    super(message);
  }
}

/** A number of things: `1 mode`, `2 modes`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
