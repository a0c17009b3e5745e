/** Layouts as exact values, and where their elements live. */

export { isKnown, type Axis, type Kind } from "./axes";
export { cudaIndex } from "./code";
export { dtypeOf, type DType } from "./dtypes";
export { LayoutError, type Span } from "./errors";
export { isFast, points, table, who, type Table } from "./evaluate";
export { extremes, plainExtremes } from "./facts";
export { Layout, type Iter, type Parts } from "./layout";
export { byCoordinates, mirrored } from "./orders";
export { coordinatesOf, extentsOf, sizeOf, spelledShape, type Mode, type Order, type Shape } from "./shapes";
export { spelledSwizzle, type Swizzle } from "./swizzles";
export { print, printCute, pythonText } from "./text";
export { spelledVector, vectorOf, type Vector } from "./vectors";
