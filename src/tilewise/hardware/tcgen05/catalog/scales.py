"""The entries of scale factors: in tensor memory, and in memory before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Parameter, Value, choice, dtype_named, entry, number
from tilewise.hardware.tcgen05.catalog.products import GROUP, K_OF_PRODUCT, of_kind
from tilewise.hardware.tcgen05.kinds import BLOCKS, KINDS, Kind, Product, product_of, scale_named
from tilewise.hardware.tcgen05.scales import (
    BLOCK_BYTES,
    BLOCK_ROWS,
    CUTLASS_FRAGMENTS,
    PTX_SCALES,
    WORD,
    Factors,
    blocks,
    taken,
    takes,
)

_SCALED = tuple(name for name, kind in KINDS.items() if kind.scaled)


def _in_tensor_memory(
    operand: str,
    kind: str,
    rows: int,
    sf_k: int,
    scale: str | None,
    scale_dtype: str | None,
    m: int,
    cta_group: int,
    k: int | None,
    **other: int | None,
) -> Built:
    this = Kind.of(kind)
    factors = Factors(operand, rows, sf_k, m, cta_group, **other)
    some = _product(this, k, m, cta_group)
    scaling, word = some.scales(scale, scale_dtype)
    depth, many = some.k, taken(scaling, some.k)
    steps = takes(scaling, sf_k, factors.next_word, depth)
    facts: dict[str, object] = {
        "kind": this.name,
        "scale": f"{word} of {scaling.dtype} ({BLOCKS[word]})",
        "scale_dtype": scaling.dtype,
        "k": depth,
        "block": depth // many,
        "columns": {"read": factors.columns, "written": factors.written},
        "copies": {"lanes": factors.lane_copies, "ctas": factors.cta_copies},
        "bytes": {"stored": rows * sf_k, "padded": factors.padded[0] * factors.padded[1]},
        "products": {
            "count": len(steps),
            "factors": many,
            "first": [{"k": one.step, "column": one.column, "id": one.id} for one in steps[:PERIOD]],
        },
    }
    if factors.split and factors.half is None:
        facts["copied"] = {"by": "64x128b.warpx2::01_23", "from": str(factors.source)}
    asked = (factors.own if factors.half is not None else rows, sf_k)
    filled, stored = _filled(asked, factors.padded)
    too_few = (f"a product takes {many} factors of a row, and there are {sf_k}: none is whole",)
    notes = (*filled, *_halves(factors), *too_few * (sf_k < many))
    source = CUTLASS_FRAGMENTS if factors.split else PTX_SCALES
    element = DType.of(scaling.dtype)
    return Built(factors.layout, facts, element, notes=notes, source=source, stored=stored)


PERIOD = 4
"""Products after which ids repeat."""


def _product(kind: Kind, k: int | None, m: int, cta_group: int) -> Product:
    """Return the products of K, dense, sparse or 96, or refuse it, and an M that they do not have."""
    sparse = k == kind.depth(sparse=True)
    some = product_of(kind.name, cta_group, sparse, k=k or 0)
    if m in some.shapes or m not in product_of(kind.name, cta_group).shapes:
        return some
    raise Refused(
        "TW602",
        f"kind::{kind.name} with K = {some.k} has no M = {m} of cta_group {cta_group}",
        witness={"kind": kind.name, "k": some.k, "m": m, "cta_group": cta_group},
        hint=f"M is {' or '.join(map(str, some.shapes))}",
    )


def _filled(asked: tuple[int, int], padded: tuple[int, int]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return a note with the real numbers of rows and factors, where the layout has more."""
    if padded == asked:
        return (), {}
    note = f"{[*asked]} is filled up to {[*padded]}: the layout has all of it"
    return (note,), dict(zip(("rows", "factors"), asked, strict=True))


def _halves(factors: Factors) -> tuple[str, ...]:
    if not factors.split:
        return ()
    inside = factors.rows // 2
    if factors.half is not None:
        first = factors.half * inside
        return (f"rows {first} to {first + inside - 1} of N = {factors.rows}, which count from 0 here",)
    return (
        f"lanes 0 to 63 have rows 0 to {inside - 1}, lanes 64 to 127 the others: each half computes its own "
        "half of N, so there are two copies and not four",
    )


def _in_memory(rows: int, sf_k: int) -> Built:
    down, along = -(-rows // BLOCK_ROWS), -(-sf_k // WORD)
    facts = {
        "blocks": [down, along],
        "block": {"rows": BLOCK_ROWS, "factors": WORD, "bytes": BLOCK_BYTES},
        "bytes": down * along * BLOCK_BYTES,
        "copy": "tcgen05.cp.cta_group::1.32x128b.warpx4 of each block",
    }
    notes, stored = _filled((rows, sf_k), (down * BLOCK_ROWS, along * WORD))
    return Built(blocks(rows, sf_k), facts, DType.of("ue8m0"), notes=notes, stored=stored)


def _instances(operand: str) -> Iterator[Mapping[str, Value]]:
    for kind, (m, cta_group) in product(_SCALED, ((128, 1), (128, 2), (256, 2))):
        for rows, sf_k in _sizes(operand, m, cta_group):
            yield {"kind": kind, "rows": rows, "sf_k": sf_k, "m": m, "cta_group": cta_group}


def _sizes(operand: str, m: int, cta_group: int) -> Iterable[tuple[int, int]]:
    """Return (rows, factors of a row); for two halves of N, only those of the oracle."""
    if operand == "SFB" and (m, cta_group) == (128, 2):
        return [(256, WORD)]
    return product((m,) if operand == "SFA" else (128, 256), (WORD, 2 * WORD))


KIND = of_kind("the kind of tcgen05.mma", _SCALED)
SF_K = number("sf_k", "scale factors of a row", "1 or more", WORD)
HALF_OF_N = choice("half", "which half of N, of a pair with M = 128", (0, 1), optional=True)


def _parameters(rows: str) -> tuple[Parameter, ...]:
    return (
        KIND,
        number("rows", rows, "1 or more"),
        SF_K,
        Parameter(
            "scale",
            "how many factors a product takes of a row",
            legal=(*BLOCKS, *dict.fromkeys(BLOCKS.values())),
            optional=True,
            normal=scale_named,
        ),
        Parameter(
            "scale_dtype",
            "the type of the factors",
            legal=("ue8m0", "ue4m3"),
            optional=True,
            normal=dtype_named,
        ),
        choice("m", "M of the product", (128, 256), 128),
        GROUP,
        K_OF_PRODUCT,
    )


ENTRIES = (
    entry(
        "tcgen05.sfa",
        _parameters("rows of A: M, of a pair of CTAs that of both"),
        partial(_in_tensor_memory, "SFA"),
        partial(_instances, "SFA"),
    ),
    entry(
        "tcgen05.sfb",
        (*_parameters("rows of B: N, of a pair of CTAs that of both"), HALF_OF_N),
        partial(_in_tensor_memory, "SFB"),
        partial(_instances, "SFB"),
    ),
    entry(
        "tcgen05.sf",
        (number("rows", "rows of the operand", "1 or more"), SF_K),
        _in_memory,
        lambda: iter([{"rows": 128, "sf_k": 4}, {"rows": 256, "sf_k": 8}]),
    ),
)
