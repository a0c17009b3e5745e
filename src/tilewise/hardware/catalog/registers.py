"""What a thread holds of a fragment, counted in elements and in registers."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.limits import REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def registers_of(layout: Layout, dtype: DType, letter: str, taken: int = 0) -> dict[str, Any]:
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
