/** Whether the page around is dark: notebooks have themes of their own, whatever the reader prefers elsewhere. */

import { make } from "./dom";

/** The sum of red, green and blue half way from black to white. */
const MIDDLE = 382;

/** Whether text at `el` is light, so that the paper below is dark; null where `el` is in no page. */
export function isDarkAround(el: HTMLElement): boolean | null {
  const { color } = getComputedStyle(el);
  if (!color) return null;
  const plain = /^rgba?\((\d+), (\d+), (\d+)/.exec(color)?.slice(1).map(Number);
  const [red = 0, green = 0, blue = 0] = plain ?? painted(color);
  return red + green + blue > MIDDLE;
}

/** Red, green and blue of a colour in another notation: that of a pixel. */
function painted(color: string): ArrayLike<number> & Iterable<number> {
  const context = make("canvas").getContext("2d");
  if (!context) return [];
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

/** Hear of what may turn the page around dark or light, until the signal. */
export function attendAround(turned: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(turned);
  for (const el of [document.documentElement, document.body]) observer.observe(el, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", turned, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
}
