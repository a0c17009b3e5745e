/** The second bundle: the hardware's catalogue, and what its engines ask of a tile; it tells the first of them. */

import { fragmentOf } from "./hardware/fragments";
import { install } from "./hardware/kit";
import { boxesAsked } from "./hardware/boxes";
import { chunksOf, NAME as CHUNKS } from "./hardware/chunks";
import { resolve, suggestions } from "./hardware/catalogue";
import { descriptorsAsked } from "./hardware/descriptors";

export { calls, resolve } from "./hardware/catalogue";

install({
  resolve,
  suggestions,
  asked(layout, name, dtype, base) {
    if (name.startsWith("descriptor")) return descriptorsAsked(layout, name, dtype, base);
    return name === "boxes" ? boxesAsked(layout, dtype, base) : null;
  },
  pattern: (name, stored) => (name === CHUNKS ? chunksOf(stored) : fragmentOf(name, stored)),
});
