/** What `hardware.js` takes of `explorer.js`, under the name "tilewise". */

export { LayoutError, extentsOf, extremes, print, table, type DType, type Layout, type Mode } from "./core";
export { read } from "./notation";
export { closest } from "./core/words";
export { MOST_STEPS, cut, type Asked } from "./scene/asked";
export { Unfinished, install, type Hardware, type Resolved, type Suggestion } from "./scene/hardware";
export { Refusal, matrixOf, vectorsOf, type Pattern } from "./scene/patterns";
export { Stored } from "./scene/stored";
export type { Encoded, Note, Step } from "./scene/types";
