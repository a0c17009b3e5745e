/** Large work, a slice at a time: frames are drawn and events heard between slices. */

import type { Work } from "../scene/pieces";

/** Milliseconds of a slice; a piece that has begun is finished. */
const SLICE = 20;

/** Begin work: what is one piece is done by then, of more `wait` says so first. The answer stops it. */
export function begin(work: Work<void>, wait: (places: number) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = (): void => {
    const end = performance.now() + SLICE;
    while (performance.now() < end) if (work.next().done) return;
    timer = setTimeout(go);
  };
  const first = work.next();
  if (!first.done) {
    wait(first.value);
    timer = setTimeout(go);
  }
  return () => clearTimeout(timer);
}

/** What is said while it goes on. */
export function coming(places: number): string {
  return `drawing ${grouped(places)} places…`;
}

/** A whole number as it is read: 1,048,576. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(...)+$)/g, ",");
}
