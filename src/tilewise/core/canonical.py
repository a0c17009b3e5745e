"""Canonical form: the same map, written without parts that have no effect.

    D0  an extent of 1 goes                         D1  s_i = e_{i+1} s_{i+1}: the digits merge
    C0  a replica of extent 1 or stride 0 as well   C1  a replica runs upwards, O moves to its start
    C2  (e, s) and (f, q s) with 1 <= q <= e cover the same as (e + q (f - 1), s)
    W   a swizzle that reads only zeros goes, equal neighbours cancel, P is taken modulo the period

D is unique, since its floor form is (see `compare`); R is wherever its copies leave gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewise.core.digits import merged
from tilewise.core.orders import turned
from tilewise.core.swizzles import Swizzle, period_of
from tilewise.core.vectors import ZERO, Iter, Stepped, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout

MAX_COPIES = 1 << 16
"""The most places of one element that are listed."""


def canonical(layout: Layout) -> Layout:
    """Return the canonical form of a layout.

        postcondition  canonical(L).same(L);  canonical(canonical(L)) == canonical(L)

    >>> from tilewise import S, Swizzle
    >>> canonical(Swizzle(3, 3, 3) @ S[(8, 8) : (8, 1)])
    S[64 : 1]
    """
    if layout.order != "row":
        return turned(canonical(turned(layout)))
    digits = merged_digits(layout.digits)
    replica, start = merged_replica(layout.replica)
    shape, strides = tuple([extent for extent, _ in digits]), tuple([stride for _, stride in digits])
    plain = layout.with_parts(shape, strides, tuple(replica), _ordered(layout.offset + start))
    swizzles, outer = layout.swizzles, layout.outer
    if not (swizzles or outer.terms):
        return plain
    plain = replace(plain, swizzles=(), outer=ZERO)
    acting = _acting(plain, swizzles)
    period = period_of(acting)
    kept = Vector(tuple((axis, steps % period) for axis, steps in outer.terms)).nonzero
    form = replace(plain, offset=_ordered(plain.offset + (outer - kept)), swizzles=acting, outer=kept)
    # P moved inside may leave a swizzle nothing to read
    return form if kept == outer or not acting else canonical(form)


def merged_digits(digits: Iterable[Stepped]) -> list[Stepped]:
    """Return digits after rules D0 and D1."""
    return merged([(extent, _ordered(stride)) for extent, stride in digits])


def merged_shard(shard: Iterable[Iter]) -> list[Iter]:
    """Return the iters after rules D0 and D1: coalesced, slowest first.

    >>> from tilewise import S
    >>> [(it.extent, it.stride) for it in merged_shard(S[(2, 1, 4, 3) : (12, 9, 3, 1)].shard)]
    [(24, 1@m)]
    """
    return [Iter(*digit) for digit in merged_digits((it.extent, it.stride) for it in shard)]


def merged_replica(replica: tuple[Iter, ...]) -> tuple[list[Iter], Vector]:
    """Return the iters after rules C0, C1 and C2 (upward, merged, sorted), and the start of the copies."""
    start = ZERO
    upward: list[Iter] = []
    for it in replica:
        stride = _ordered(it.stride)
        if it.extent == 1 or not stride:
            continue
        if stride.terms[0][1] < 0:
            start = start + stride * (it.extent - 1)
            stride = -stride
        upward.append(Iter(it.extent, stride))
    upward.sort(key=_replica_order)
    while (pair := _mergeable(upward)) is not None:
        i, j, both = pair
        upward = sorted([*upward[:i], *upward[i + 1 : j], *upward[j + 1 :], both], key=_replica_order)
    return upward, start


def _mergeable(iters: list[Iter]) -> tuple[int, int, Iter] | None:
    """Return, by C2, the first two iters on one line of which the coarser continues the finer."""
    for i, fine in enumerate(iters):
        for j in range(i + 1, len(iters)):
            q = multiple(iters[j].stride, fine.stride)
            if q is not None and 1 <= q <= fine.extent:
                both = Iter(fine.extent + q * (iters[j].extent - 1), fine.stride)
                return i, j, both
    return None


def multiple(vector: Vector, unit: Vector) -> int | None:
    """Return the q with vector == q * unit, or None."""
    q, rest = divmod(vector.terms[0][1], unit.terms[0][1])
    return q if not rest and unit * q == vector else None


def _replica_order(it: Iter) -> tuple[list[tuple[str, int]], int]:
    return [(axis.name, steps) for axis, steps in it.stride.terms], it.extent


def _ordered(vector: Vector) -> Vector:
    """Return the vector without zero terms, axes by name: one spelling a vector."""
    if len(vector.terms) == 1 and vector.terms[0][1]:
        return vector
    return Vector(tuple(sorted(vector.nonzero.terms, key=lambda term: term[0].name)))


def _acting(plain: Layout, swizzles: tuple[Swizzle, ...]) -> tuple[Swizzle, ...]:
    """Return the chain without the swizzles that have no effect on the layout's places."""
    acting: list[Swizzle] = []
    for swizzle in reversed(swizzles):
        if acting and acting[-1] == swizzle:
            acting.pop()
        elif swizzle.bits:
            low, high = (0, swizzle.source) if acting else plain.extremes(swizzle.axis)
            if low < 0 or high >= swizzle.source & -swizzle.source:  # else it reads zeros alone
                acting.append(swizzle)
    return tuple(reversed(acting))
