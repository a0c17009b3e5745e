"""Operations on swizzles: products, chains in normal form, and offsets moved through them.

`core.chains` has the law that tells when a chain is one swizzle, and the bits that are 0 on a layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from tilewise.core.chains import (
    addresses_of,
    as_one,
    first_where,
    flips_of,
    least_swizzled,
    normal_form,
    zero_bits,
    zeros_after,
)
from tilewise.core.digits import value
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.solve import BudgetSpent
from tilewise.core.swizzles import Swizzle, apply_chain
from tilewise.core.vectors import Vector, along, as_vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from tilewise.core.chains import Chain


def merge_swizzles(one: Swizzle, other: Swizzle) -> Swizzle:
    """The one swizzle that `one o other` is; that without bits, where they undo each other.

        postcondition  merge_swizzles(a, b)(x) == a(b(x)) for every address x
        refused        TW504 where the product is no swizzle; the witness are the addresses of one bit, or
                       two, whose images show it

    >>> merge_swizzles(Swizzle(3, 4, 3), Swizzle(2, 4, 3)), merge_swizzles(Swizzle(1, 0, 2), Swizzle(1, 1, 2))
    (Swizzle(1, 6, 3), Swizzle(2, 0, 2))
    >>> merge_swizzles(Swizzle(1, 0, 2), Swizzle(1, 0, 3))
    Traceback (most recent call last):
    tilewise.Refused: TW504: Swizzle<1,0,2> o Swizzle<1,0,3> is no swizzle: it takes 4 to 5 and 8 to 9
      hint: a swizzle flips one bit a bit that it reads, all at one distance S; a layout keeps both in a chain
    """
    for swizzle in (one, other):
        if not isinstance(swizzle, Swizzle):
            raise LayoutError("TW107", f"swizzles merge, not the {type(swizzle).__name__} {swizzle!r}")
    if not one.bits or not other.bits:
        return one if one.bits else other
    if one.axis != other.axis:
        raise Refused("TW504", f"{one} and {other} act on two axes, and a swizzle acts on one")
    merged = as_one((one, other))
    if merged is not None:
        return merged
    moved = {bit: flip for bit, flip in flips_of((one, other)).items() if flip}
    distance = {bit: bit + 1 - flip.bit_length() for bit, flip in moved.items()}
    first, last = min(moved), max(moved)
    double = [bit for bit, flip in moved.items() if flip.bit_count() > 1]
    others = [bit for bit in moved if distance[bit] != distance[first]]
    gap = [bit for bit in range(first, last) if bit not in moved]
    shown = double[:1] or [first, *(others or gap or [last])[:1]]
    images = " and ".join(f"{1 << bit} to {1 << bit ^ moved.get(bit, 0)}" for bit in shown)
    raise Refused(
        "TW504",
        f"{one} o {other} is no swizzle: it takes {images}",
        witness=tuple(1 << bit for bit in shown),
        hint="a swizzle flips one bit a bit that it reads, all at one distance S; "
        "a layout keeps both in a chain"
        if double or others
        else "a swizzle reads one run of at most |S| bits; a layout keeps both in a chain",
    )


# -- normal form -----------------------------------------------------------------------------------


def swizzle_chain(chain: Any) -> Any:
    """The normal form of a chain, as a tuple; of a layout, with the smallest swizzles on its places.

    Neighbours merge wherever they are one swizzle, and those that undo each other go. What does not merge
    stays in the chain, exactly. On a layout a swizzle also shrinks to the bits that some address sets, and
    more of them merge.

        postcondition  of a chain, all addresses go where they went, by no more swizzles; of a layout,
                       swizzle_chain(L).same(L); and swizzle_chain(swizzle_chain(x)) == swizzle_chain(x)

    Two chains that permute alike need not have one normal form: `same` of layouts decides that.

    >>> from tilewise import S
    >>> swizzle_chain([Swizzle(1, 0, 3), Swizzle(1, 1, 3), Swizzle(1, 6, 2)])
    (Swizzle(2, 0, 3), Swizzle(1, 6, 2))
    >>> swizzle_chain(Swizzle(3, 3, 3) @ S[(4, 64) : (64, 1)])
    Swizzle(2, 3, 3) @ S[(4, 64) : (64, 1)]
    """
    if isinstance(chain, Layout):
        return least_swizzled(chain)
    given = (chain,) if isinstance(chain, Swizzle) else tuple(chain)
    _check_chain(given)
    return normal_form(given)


def inverse_chain(chain: Iterable[Swizzle]) -> Chain:
    """The chain that undoes a chain: its normal form the other way round, each being its own inverse.

    >>> inverse_chain([Swizzle(1, 0, 1), Swizzle(1, 1, 1)])
    (Swizzle(1, 1, 1), Swizzle(1, 0, 1))
    """
    given = tuple(chain)
    _check_chain(given)
    return normal_form(given[::-1])


def _check_chain(chain: Chain) -> None:
    for swizzle in chain:
        if not isinstance(swizzle, Swizzle):
            raise LayoutError(
                "TW107", f"a chain is made of swizzles, not of the {type(swizzle).__name__} {swizzle!r}"
            )
    if len({swizzle.axis for swizzle in chain if swizzle.bits}) > 1:
        raise LayoutError("TW104", "the swizzles of a chain act on one axis")


# -- offsets ---------------------------------------------------------------------------------------


def move_offset(layout: Layout, vector: Vector | SupportsIndex | None = None, outside: bool = True) -> Layout:
    """The same map with some of its offset moved out of the swizzles, O to P, or back into them.

    Sw(a + v) == Sw(a) + v for all addresses a where v is a multiple of the period; a layout always
    writes such an offset inside, and comes back as it is. For any other v the places decide: every one of
    the layout's addresses has to be moved alike. Without a vector all of O, or of P, on the swizzled axis
    is moved. Offsets on other axes stand inside and outside alike.

        postcondition  move_offset(L, v).same(L); its offset is O - v and its outer one P + v, or, back in,
                       O + v and P - v
        refused        TW504, with an element, its address before the swizzles, where it lives and would

    >>> from tilewise import O, S, m
    >>> move_offset(Swizzle(1, 0, 3) @ (S[(2, 4) : (8, 1)] + 20), 4)
    O[4@m] @ Swizzle(1, 0, 3) @ (S[(2, 4) : (8, 1)] + 16)
    >>> move_offset(O[2@m] @ Swizzle(1, 0, 2) @ S[(4, 2) : (4, 1)], outside=False)
    Swizzle(1, 0, 2) @ (S[(4, 2) : (4, 1)] + 2)
    >>> move_offset(Swizzle(1, 0, 3) @ (S[8 : 1] + 4))
    Traceback (most recent call last):
    tilewise.Refused: TW504: 4@m does not pass Swizzle<1,0,3>: element 4 lives at 9@m, and would at 8@m
      hint: multiples of 16 always pass
    """
    axis = layout.swizzled_axis
    if axis is None:
        return layout
    whole = layout.offset if outside else layout.outer
    steps = (whole if vector is None else as_vector(vector, "an offset"))[axis]
    inward = along(axis, -steps if outside else steps)
    _check_passes(layout, inward[axis], along(axis, steps))
    offset, outer = (
        Vector(tuple(term for term in moved.terms if term[1] or term[0] != axis))
        for moved in (layout.offset + inward, layout.outer - inward)
    )
    return replace(layout, offset=offset, outer=outer)


def _check_passes(layout: Layout, inward: int, asked: Vector) -> None:
    """Refuse where some address is not moved alike inside and outside the swizzles."""
    chain, period = layout.swizzles, layout.period
    steps = inward % period  # whole periods pass
    zeros = before = zero_bits(layout)
    for swizzle in reversed(chain):
        zeros = zeros_after(swizzle, zeros)
    if not steps & ~(zeros & before) and apply_chain(chain, steps) == steps:
        return  # they set bits alone that are 0 before and after, and that nothing reads

    def differs(address: int) -> bool:
        return apply_chain(chain, address + steps) != apply_chain(chain, address) + steps

    start, digits = addresses_of(layout)
    try:
        found = first_where(digits, start, period, differs)
    except BudgetSpent:
        raise NotDecided(f"whether {asked} passes the swizzles was not decided within the bound") from None
    if found is None:
        return
    address = value(digits, found, start)
    element = found // prod([extent for extent, _ in digits[len(layout.digits) :]])
    axis, outer = chain[0].axis, layout.outer[chain[0].axis]
    lives, would = (
        point((axis,), (apply_chain(chain, address) + outer,)),
        point((axis,), (apply_chain(chain, address + inward) - inward + outer,)),
    )
    raise Refused(
        "TW504",
        f"{asked} does not pass {' o '.join(map(str, chain))}: "
        f"element {element} lives at {lives}, and would at {would}",
        witness={"index": element, "address": address, "place": lives, "moved": would},
        hint=f"multiples of {period} always pass",
    )
