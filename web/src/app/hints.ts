/** Hints in the page's own words: those of the notation name what Python and the command line have. */

const NO_NAMES = "this page gives no values to names: write the number";
const HERE: readonly (readonly [RegExp, string])[] = [
  [/^.*--let.*$/s, NO_NAMES],
  [/, or --dtype bf16, or --unit byte$/, ", or in the field dtype, such as bf16"],
  [/^declare it: .*--storage .*$/s, "use an axis that holds elements, such as m"],
  [/^tilewise\.parse knows the catalogue; or /, "a call of the catalogue stands first; or "],
];

/** What to do, said with the fields of the page. */
export function hintHere(hint: string): string {
  return HERE.reduce((said, [elsewhere, here]) => said.replace(elsewhere, here), hint);
}
