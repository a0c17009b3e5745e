/** The second bundle: the hardware's catalogue, and what its engines ask of a tile; it tells the first of them. */

import { fragmentOf } from "./hardware/fragments";
import { LayoutError, install } from "./hardware/kit";
import { boxesAsked } from "./hardware/boxes";
import { chunksOf, NAME as CHUNKS } from "./hardware/chunks";
import { resolve, suggestions } from "./hardware/catalogue";
import { descriptorsAsked } from "./hardware/descriptors";

export { calls, resolve } from "./hardware/catalogue";

const DESCRIPTORS = ["descriptor.A", "descriptor.B"];

install({
  resolve,
  suggestions,
  asked(layout, name, dtype, base) {
    if (DESCRIPTORS.includes(name)) return descriptorsAsked(layout, name, dtype, base);
    if (name === "boxes") return boxesAsked(layout, dtype, base);
    if (!name.startsWith("descriptor")) return null;
    throw new LayoutError("TW601", `'${name}' is no access`, `wgmma's are ${DESCRIPTORS.join(" ")}`);
  },
  pattern: (name, stored) => (name === CHUNKS ? chunksOf(stored) : fragmentOf(name, stored)),
});
