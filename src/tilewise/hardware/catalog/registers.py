"""What a thread holds of a fragment, counted in elements and in registers."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import Built
from tilewise.hardware.limits import REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def registers_of(layout: Layout, dtype: DType, letter: str, taken: int = 0) -> dict[str, object]:
    """The elements of a thread and its registers; an element takes `taken` bits, if more than its own.

    Registers have 32 bits; an element of 64 is in two.

    >>> from tilewise import S, laneid, reg
    >>> f64 = S[(8, 8) : (4 @ laneid, 1 @ reg)]
    >>> registers_of(f64, DType.of("f64"), "d")["registers"]
    {'count': 16, 'bits': 32, 'registers_each': 2}
    >>> registers_of(f64, DType.of("s4"), "a")["registers"]
    {'count': 1, 'bits': 32, 'elements_each': 8}
    """
    elements, bits = layout.span("reg"), taken or dtype.bits
    wide = bits > REGISTER_BITS
    each = bits // REGISTER_BITS if wide else REGISTER_BITS // bits
    count = elements * each if wide else elements // each
    return {
        "dtype": dtype.name,
        "elements": {"count": elements, "first": f"{letter}0", "last": f"{letter}{elements - 1}"},
        "registers": {
            "count": count,
            "bits": REGISTER_BITS,
            ("registers_each" if wide else "elements_each"): each,
        },
    }


def in_container(element: DType, taken: int, lowest: int) -> dict[str, object]:
    """Return the bits of a register that an element has, where it does not have all that it takes.

    >>> in_container(DType.of("e2m1"), 8, 2)
    {'container': {'bits': 8, 'lowest': 2, 'highest': 5}}
    """
    if taken == element.bits:
        return {}
    return {"container": {"bits": taken, "lowest": lowest, "highest": lowest + element.bits - 1}}


def fragment_built(
    layout: Layout,
    element: DType,
    letter: str,
    facts: Mapping[str, object],
    held: tuple[int, int] | None = None,
    **rest: Any,
) -> Built:
    """Return what an entry gives of a fragment: facts of its own, and then what a thread holds."""
    taken, lowest = held or (element.bits, 0)
    holds = registers_of(layout, element, letter, taken) | in_container(element, taken, lowest)
    return Built(layout, {**facts, **holds}, element, letter, held, **rest)
