/** Vectors on named axes: what strides, offsets and places are. An axis that is absent counts 0. */

/** Steps by axis, in the order written. It has no prototype: any identifier is a name. */
export type Vector = Readonly<Record<string, bigint>>;

export type Term = readonly [axis: string, steps: bigint];

/** The sum of terms: one an axis, at its first appearance. */
export function vectorOf(terms: Iterable<Term>): Vector {
  const sum = Object.create(null) as Record<string, bigint>;
  for (const [axis, steps] of terms) sum[axis] = (sum[axis] ?? 0n) + steps;
  return sum;
}

export const ZERO: Vector = vectorOf([]);

/** The terms of a vector, those of 0 steps too. */
export function termsOf(vector: Vector): Term[] {
  return Object.entries(vector);
}

export function negated(vector: Vector): Vector {
  return vectorOf(termsOf(vector).map(([axis, steps]): Term => [axis, -steps]));
}

/** Whether it moves at all. */
export function moves(vector: Vector): boolean {
  return Object.values(vector).some((steps) => steps !== 0n);
}

/** A vector for a sentence: `4@laneid + 1@reg`. */
export function spelledVector(vector: Vector, named = true): string {
  const [first, ...rest] = termsOf(vector);
  return first ? spelledTerm(first, named) + rest.map((term) => signed(term, named)).join("") : "0";
}

/** A term after others: ` + 1@reg`. */
export function signed([axis, steps]: Term, named: boolean): string {
  return steps < 0n ? ` - ${spelledTerm([axis, -steps], named)}` : ` + ${spelledTerm([axis, steps], named)}`;
}

/** `4@laneid`; the axis of a bare number is m, except that a bare 0 names none. */
function spelledTerm([axis, steps]: Term, named: boolean): string {
  return named || steps === 0n ? `${steps}@${axis}` : `${steps}`;
}
