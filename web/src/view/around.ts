/** Whether the page around is dark: notebooks have themes of their own, whatever the reader prefers elsewhere. */

import { make } from "./dom";

/** Whether text at `el` is light, so that the paper below is dark; null where `el` is in no page. */
export function isDarkAround(el: HTMLElement): boolean | null {
  const context = make("canvas").getContext("2d");
  const { color } = getComputedStyle(el);
  if (!context || !color) return null;
  context.fillStyle = color; // in whatever notation: the pixel is red, green and blue
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return red! + green! + blue! > 382;
}

/** Hear of what may turn the page around dark or light, until the signal. */
export function attendAround(turned: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(turned);
  for (const el of [document.documentElement, document.body]) observer.observe(el, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", turned, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
}
