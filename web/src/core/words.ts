/** Words that are alike, as Python's `difflib` tells. */

const LONGEST = 100;

/** The word most like another, where they are alike enough; of equals the last by the alphabet. */
export function closest(word: string, words: Iterable<string>, cutoff = 0.6): string | undefined {
  if (word.length > LONGEST) return undefined;
  let best: string | undefined;
  let most = cutoff;
  for (const candidate of words) {
    const ratio = (2 * alike(candidate, word)) / (candidate.length + word.length);
    if (ratio > most || (ratio === most && (best === undefined || candidate > best))) {
      [best, most] = [candidate, ratio];
    }
  }
  return best;
}

/** How many letters the longest common stretches have: the longest, and those left and right of it. */
function alike(a: string, b: string): number {
  let [length, atA, atB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let same = 0;
      while (i + same < a.length && j + same < b.length && a[i + same] === b[j + same]) same++;
      if (same > length) [length, atA, atB] = [same, i, j];
    }
  }
  if (!length) return 0;
  const right = alike(a.slice(atA + length), b.slice(atB + length));
  return length + alike(a.slice(0, atA), b.slice(0, atB)) + right;
}
