"""The claims of CuTe's headers about tensor memory: D, A, metadata and scale factors of tcgen05.mma."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.cute_tensor_memory import Fragment, N

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog import find

NARROW = ("e2m1", "e2m3", "e3m2")

FAULTS = {
    ("tcgen05.D", f"{dtype} m=128 cta_group=2 sparse"): "data path B, that of dense A; the manual has C"
    for dtype in ("f16", "f32", "s32")
} | {
    (
        "tcgen05.A",
        f"{dtype} {of}",
    ): "8 in a column, even of 6 bits; the manual has a byte for each"
    for dtype in NARROW
    for of in ("m=64", "m=128", "m=128 cta_group=2", "m=256 cta_group=2")
}
"""{entry and instance: what it has otherwise}, in the version that pyproject.toml names."""

INDEX_BITS = 2
"""Of metadata."""
FACTOR_BITS = 8


def claims(fragments: list[Fragment]) -> Iterator[Claim]:
    """Of all fragments."""
    for fragment in fragments:
        yield from _CLAIMS[fragment.what](fragment)


def _in_ctas(fragment: Fragment, row: int, column: int, place: dict[str, int]) -> Iterator[Place]:
    """The same place in each CTA, which is of its own rows."""
    for cta, first in enumerate(fragment.firsts):
        yield (first + row, column), place | {"cbx": cta}


def _accumulator(fragment: Fragment) -> Iterator[Claim]:
    """Where there are two tiles of 64 rows, the second has the lanes that the first leaves free: slab 1."""
    bits = DType.of(fragment.of["dtype"]).bits
    slabs: dict[int, list[Place]] = {}
    for row, column, slab, lane, bit in fragment.cells():
        place = {"TLane": lane, "TCol": int(bit) // bits}
        slabs.setdefault(slab, []).extend(_in_ctas(fragment, row, column, place))
    for slab, found in slabs.items():
        yield claim(fragment.type, "tcgen05.D", found, n=N, slab=slab, **fragment.of)


def _multiplicand(fragment: Fragment) -> Iterator[Claim]:
    """A pair's 64 rows it has twice, `Duplicated`, in lanes 0 to 63 and in the others, as it says there.

    Narrow types count bytes, and what begins inside of one has a bit.
    """
    unit = max(8, DType.of(fragment.of["dtype"]).bits)
    own = fragment.of["m"] // fragment.of["cta_group"]
    found = []
    for row, column, _, lane, bit in fragment.cells():
        steps, inside = divmod(int(bit), unit)
        place = {"TLane": lane, "TCol": steps, "bit": inside}
        found += _in_ctas(fragment, row % own, column, place)
    yield claim(fragment.type, "tcgen05.A", found, **fragment.of)


def _metadata(fragment: Fragment) -> Iterator[Claim]:
    """Of two instructions: where both are in one pair of columns the column is the selector.

    So its operations hand it on, the lowest bit of the address. Where an instruction has both columns its
    selector is 0, and we have no such second instruction, two columns further.
    """
    entry = find("tcgen05.E")
    each = INDEX_BITS // fragment.bits
    copies = len(fragment.places) // (2 * fragment.rows * fragment.columns)
    found: dict[int, list[Place]] = {}
    for row, column, tile, lane, bit in fragment.cells():
        place = {"TLane": lane, "TCol": int(bit) // INDEX_BITS}
        said = _in_ctas(fragment, row, int(column // each), place)
        found.setdefault(tile // copies, []).extend(said)
    for second, places in found.items():
        column = min(place["TCol"] for _, place in places) * INDEX_BITS // 32
        if column == second:
            yield claim(fragment.type, entry.name, places, selector=column, **fragment.of)


def _factor(fragment: Fragment) -> Iterator[Claim]:
    """Of A each CTA has its own rows, of B it has all; copies come after the rows."""
    own = len(fragment.firsts) if fragment.what == "sfa" else 1
    rows = fragment.of["rows"] // own
    found = []
    for row, factor, step, lane, bit in fragment.cells():
        place = {"TLane": lane, "TCol": int(bit) // FACTOR_BITS}
        for cta, first in enumerate(fragment.firsts):
            index = (row % rows + first * (own > 1), factor + fragment.columns * step)
            found.append((index, place | {"cbx": cta}))
    yield claim(fragment.type, f"tcgen05.{fragment.what}", found, **fragment.of)


_CLAIMS = {
    "D": _accumulator,
    "A": _multiplicand,
    "E": _metadata,
    "sfa": _factor,
    "sfb": _factor,
}
