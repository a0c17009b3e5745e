"""Parameters that several entries of tcgen05 have: the kind, and which of its products."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.hardware.catalog.entry import Parameter
from tilewise.hardware.catalog.parameters import choice, flag, number
from tilewise.hardware.tcgen05.kinds import DEEP_K, KINDS, Kind


def of_kind(meaning: str, legal: Iterable[str] = KINDS, *, optional: bool = False) -> Parameter:
    """Return the parameter that is a kind of tcgen05.mma, with or without PTX's `kind::` before it.

    >>> of_kind("the kind of the product").read(".kind::MXF4")
    'mxf4'
    """
    return Parameter(
        "kind", meaning, legal=tuple(legal), normal=lambda given: Kind.of(given).name, optional=optional
    )


KIND = of_kind("the kind of the product", optional=True)
GROUP = choice("cta_group", "CTAs that multiply together", (1, 2), 1)
WS = flag("ws", "tcgen05.mma.ws, which keeps B")
SPARSE = flag("sparse", "A is sparse")
_DEEP = f"{DEEP_K} of mxf4 and mxf4nvf4"
K_OF_PRODUCT = number(
    "k",
    "K of the product",
    f"as the kind has it, with sparse A twice that; {_DEEP}",
    optional=True,
)
