"""The entry of shapes: which products there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.tcgen05.kinds import BLOCKS, DEEP_K, KINDS, PTX_TCGEN05_SHAPES, Kind
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
    depths = this.depths(sparse)
    if k is not None and k not in depths:
        raise Refused(
            "TW602",
            f"kind::{this.name} has no K = {k}{' with sparse A' * sparse}",
            witness={"kind": this.name, "k": k, "sparse": sparse},
            hint=f"K is {' or '.join(map(str, depths))}",
        )
    depth = k or depths[0]
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
    for kind in KINDS.values():
        for cta_group, sparse, ws in _VARIANTS:
            if kind.shapes(cta_group, sparse, ws):
                flags = {"sparse": sparse, "ws": ws}
                yield {"kind": kind.name, "cta_group": cta_group, **{f: "1" for f, on in flags.items() if on}}


_VARIANTS = (
    (1, False, False),
    (1, True, False),
    (2, False, False),
    (2, True, False),
    (1, False, True),
    (1, True, True),
)
"""(CTAs, sparse, ws)."""

ENTRIES = (
    Entry(
        "tcgen05.shapes",
        "which tcgen05.mma there are: types, K, the legal M and N of a kind",
        (
            Parameter("kind", "the kind of tcgen05.mma", legal=tuple(KINDS)),
            Parameter("m", "asks whether this M is legal", rule="a number", optional=True, number=True),
            Parameter("n", "asks whether this N is legal", rule="a number", optional=True, number=True),
            Parameter("cta_group", "CTAs that multiply together", legal=(1, 2), default=1, number=True),
            Parameter("sparse", "A is sparse", flag=True),
            Parameter("ws", "tcgen05.mma.ws", flag=True),
            Parameter(
                "k",
                "K of the product",
                rule=f"as the kind has it, with sparse A twice that; {DEEP_K} of mxf4 and mxf4nvf4",
                optional=True,
                number=True,
            ),
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
