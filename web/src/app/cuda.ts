/** Index functions in CUDA C++: one for each axis, of the flat index and, where there are copies, of the copy. */

import { print, spelledSwizzle, type Layout, type Swizzle } from "../core";

const KIND = "__host__ __device__ inline long long";

/** Functions `axis(x)` or `axis(x, r)`; r counts R in row-major order, as x does the index. */
export function cudaText(layout: Layout): string {
  const given = layout.replica.length ? "long long x, long long r" : "long long x";
  const functions = layout.axes.map(({ name }) => `${KIND} ${name}(${given}) { ${bodyOf(layout, name)} }`);
  return [`// ${print(layout)}`, ...functions].join("\n");
}

function bodyOf(layout: Layout, axis: string): string {
  const digits = [...terms("x", layout.digits, axis), ...terms("r", layout.replica, axis)];
  const offset = layout.offset[axis] ?? 0n;
  if (offset || !digits.length) digits.push(`${offset}`);
  const sum = digits.join(" + ");
  if (layout.swizzledAxis?.name !== axis) return `return ${sum};`;
  const steps = [...layout.swizzles].reverse().filter(({ bits }) => bits).map(xored);
  const outer = layout.outer[axis] ? ` + ${layout.outer[axis]}` : "";
  return [`long long a = ${sum};`, ...steps, `return a${outer};`].join(" ");
}

/** `x / 8 % 4 * 16` for each digit that moves along the axis. */
function terms(name: string, iters: Layout["digits"], axis: string): string[] {
  let below = 1n;
  const found: string[] = [];
  [...iters].reverse().forEach(({ extent, stride }, at) => {
    const steps = stride[axis] ?? 0n;
    const divided = below > 1n ? `${name} / ${below}` : name;
    const digit = at === iters.length - 1 ? divided : `${divided} % ${extent}`;
    if (steps && extent > 1n) found.push(steps === 1n ? digit : `${digit} * ${steps}`);
    below *= extent;
  });
  return found.reverse();
}

function xored(swizzle: Swizzle): string {
  const { bits, base, shift } = swizzle;
  const mask = ((1n << BigInt(bits)) - 1n) << BigInt(base + Math.max(0, shift));
  return `a ^= (a & ${mask}) ${shift < 0 ? "<<" : ">>"} ${Math.abs(shift)}; /* ${spelledSwizzle(swizzle)} */`;
}
