"""The entry of shapes: which products there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import number
from tilewise.hardware.tcgen05.catalog.parameters import GROUP, K_OF_PRODUCT, SPARSE, WS
from tilewise.hardware.tcgen05.kinds import BLOCKS, KINDS, PTX_TCGEN05_SHAPES, Kind
from tilewise.hardware.tcgen05.opcodes import looks, products_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ABSENT = {
    "tcgen05.mma": "each operand has its layout: tcgen05.D, tcgen05.A, tcgen05.E, tcgen05.smem; which shapes "
    "there are is tcgen05.shapes, and what tells the instruction its shape is tilewise idesc",
}
"""Names that are left out, and why."""


def _shapes(
    kind: str, m: int | None, n: int | None, cta_group: int, sparse: bool, ws: bool, k: int | None
) -> Built:
    this = Kind.of(kind)
    depth, depths = this.check_depth(k or 0, sparse), this.depths(sparse)
    legal = this.shapes(cta_group, sparse, ws, depth)
    if m is not None or n is not None or not legal:
        some = m if m is not None else next(iter(legal), 128)
        wanted = n if n is not None else max(legal.get(some, (256,)))
        this.check_shape(some, wanted, cta_group, sparse, ws, k=depth)
    facts: dict[str, Any] = {
        "kind": this.name,
        "types": list(this.types),
        "mixed": this.mixed,
        "accumulators": list(this.results),
        "scales": [f"{one.word} of {one.dtype} ({BLOCKS[one.word]})" for one in this.scalings],
        "k": depth,
        "m": list(legal) if m is None else m,
        "n": list(legal[m if m is not None else next(iter(legal))]) if n is None else n,
        "architectures": str(this.needs(sparse, depth)),
        "majors": {name: list(this.majors(name)) for name in this.types},
    }
    notes = tuple(
        f"there is K = {other} as well: --k {other}" for other in depths if k is None and other != depth
    )
    return Built(None, facts, notes=notes)


def _listed() -> Iterator[Mapping[str, Value]]:
    for kind, cta_group, sparse, ws in product(KINDS.values(), (1, 2), (False, True), (False, True)):
        if kind.shapes(cta_group, sparse, ws):
            yield {"kind": kind.name, "cta_group": cta_group, "sparse": sparse, "ws": ws}


ENTRIES = (
    Entry(
        "tcgen05.shapes",
        "which tcgen05.mma there are: types, K, the legal M and N of a kind",
        (
            Parameter("kind", "the kind of tcgen05.mma", legal=tuple(KINDS)),
            number("m", "asks whether this M is legal", "a number", optional=True),
            number("n", "asks whether this N is legal", "a number", optional=True),
            GROUP,
            SPARSE,
            replace(WS, meaning="tcgen05.mma.ws"),
            K_OF_PRODUCT,
        ),
        PTX_TCGEN05_SHAPES,
        _shapes,
        {"kind": "f16"},
        "instructions kinds types illegal Blackwell tensor core mma",
        _listed,
        looks("mma"),
        products_said(),
    ),
)
