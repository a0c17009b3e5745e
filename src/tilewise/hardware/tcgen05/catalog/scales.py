"""The entries of scale factors: in tensor memory, and in memory before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import dtype_named
from tilewise.hardware.tcgen05.kinds import DEEP_K, KINDS, Kind
from tilewise.hardware.tcgen05.scales import (
    BLOCK_BYTES,
    BLOCK_ROWS,
    CUBLAS_BLOCKS,
    CUTLASS_FRAGMENTS,
    PTX_SCALES,
    WORD,
    Factors,
    blocks,
    taken,
    takes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ABSENT: dict[str, str] = {}

_SCALED = tuple(name for name, kind in KINDS.items() if kind.scaled)


def _in_tensor_memory(operand: str) -> Callable[..., Built]:
    def build(
        kind: str,
        rows: int,
        sf_k: int,
        scale: str | None,
        dtype: str | None,
        m: int,
        cta_group: int,
        k: int | None,
    ) -> Built:
        this = Kind.of(kind)
        scaling = _finest(this, scale, dtype)
        factors = Factors(operand, rows, sf_k, m, cta_group)
        depth = this.depth() if k is None else k
        steps = takes(scaling, sf_k, factors.next_word, depth)
        facts: dict[str, Any] = {
            "kind": this.name,
            "scale": str(scaling),
            "dtype": scaling.dtype,
            "block": depth // taken(scaling, depth),
            "columns": factors.columns,
            "copies": {"lanes": factors.lane_copies, "ctas": factors.cta_copies},
            "bytes": {"stored": rows * sf_k, "padded": factors.padded[0] * factors.padded[1]},
            "products": [
                {"k": one.step, "first": one.first, "column": one.column, "id": one.id} for one in steps
            ],
        }
        source = CUTLASS_FRAGMENTS if factors.split else PTX_SCALES
        notes = (*_padding(rows, sf_k, factors.padded), *_halves(factors))
        return Built(factors.layout, facts, DType.of(scaling.dtype), notes=notes, source=source)

    return build


def _finest(kind: Kind, scale: str | None, dtype: str | None) -> Any:
    """The scaling that is said; of several that fit, the finest, as `idesc` takes it."""
    fitting = [one for one in kind.scalings if scale in (None, one.word) and dtype in (None, one.dtype)]
    return fitting[-1] if fitting else kind.scaling(scale, dtype)


def _padding(rows: int, sf_k: int, padded: tuple[int, int]) -> tuple[str, ...]:
    if padded == (rows, sf_k):
        return ()
    return (f"[{rows}, {sf_k}] is filled up to [{padded[0]}, {padded[1]}]: the layout has all of it",)


def _halves(factors: Factors) -> tuple[str, ...]:
    if not factors.split:
        return ()
    half = factors.rows // 2
    return (
        f"lanes 0 to 63 have rows 0 to {half - 1}, lanes 64 to 127 the others: each half computes its own "
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
    notes = _padding(rows, sf_k, (down * BLOCK_ROWS, along * WORD))
    return Built(blocks(rows, sf_k), facts, DType.of("ue8m0"), notes=notes)


def _instances(operand: str) -> Callable[[], Iterator[Mapping[str, Value]]]:
    def listed() -> Iterator[Mapping[str, Value]]:
        for kind in _SCALED:
            for m, cta_group in ((128, 1), (128, 2), (256, 2)):
                rows = m if operand == "SFA" else 128
                yield {"kind": kind, "rows": rows, "sf_k": 4, "m": m, "cta_group": cta_group}

    return listed


KIND = Parameter("kind", "the kind of tcgen05.mma", legal=_SCALED)
SF_K = Parameter("sf_k", "scale factors of a row", rule="1 or more", default=WORD, number=True)


def _parameters(rows: str) -> tuple[Parameter, ...]:
    return (
        KIND,
        Parameter("rows", rows, rule="1 or more", number=True),
        SF_K,
        Parameter(
            "scale", "how many factors a row has for a product", legal=("1X", "2X", "4X"), optional=True
        ),
        Parameter(
            "dtype", "the type of the factors", legal=("ue8m0", "ue4m3"), optional=True, normal=dtype_named
        ),
        Parameter("m", "M of the product", legal=(128, 256), default=128, number=True),
        Parameter("cta_group", "CTAs that multiply together", legal=(1, 2), default=1, number=True),
        Parameter(
            "k",
            f"K of the product: the kind's, or {DEEP_K}",
            legal=(32, 64, DEEP_K),
            optional=True,
            number=True,
        ),
    )


_WORDS = "layout tensor memory scale factors block scaling TLane TCol copies warpx4 microscaling nvfp4 mxfp8"

ENTRIES = (
    Entry(
        "tcgen05.sfa",
        "the scale factors of A in tensor memory, [M, sf], with every copy",
        _parameters("rows of A: M, of a pair of CTAs that of both"),
        PTX_SCALES,
        _in_tensor_memory("SFA"),
        {"kind": "mxf8f6f4", "rows": 128, "sf_k": 4},
        _WORDS,
        _instances("SFA"),
    ),
    Entry(
        "tcgen05.sfb",
        "the scale factors of B in tensor memory, [N, sf], with every copy",
        _parameters("rows of B: N, of a pair of CTAs that of both"),
        PTX_SCALES,
        _in_tensor_memory("SFB"),
        {"kind": "mxf8f6f4", "rows": 128, "sf_k": 4},
        _WORDS,
        _instances("SFB"),
    ),
    Entry(
        "tcgen05.sf",
        "scale factors in memory, [rows, sf]: blocks of 128 x 4, as tcgen05.cp and libraries take them",
        (Parameter("rows", "rows of the operand", rule="1 or more", number=True), SF_K),
        CUBLAS_BLOCKS,
        _in_memory,
        {"rows": 256, "sf_k": 8},
        "layout memory global shared scale factors blocks 128x4 swizzled to_blocked",
        lambda: iter([{"rows": 128, "sf_k": 4}, {"rows": 256, "sf_k": 8}]),
    ),
)
