"""The claims of Triton's layouts about tcgen05's instances of the catalogue.

Its layouts of tensor memory are those of one CTA; the kernels that it compiles of them are recorded, and are
held to the descriptors in them elsewhere.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.tile_claims import Tile

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of

SCRIPT = Path(__file__).with_name("triton_tcgen05.py")
TYPES = {8: ("e4m3", "e5m2", "s8", "u8"), 16: ("f16", "bf16"), 32: ("tf32",)}
"""{bits: types}: a layout of Triton's is one of a width."""

Bases = Sequence[Sequence[int]]


def claims() -> Iterator[Claim]:
    """Of all that its script prints."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    for said in json.loads(done.stdout):
        yield from _CLAIMS[said["what"]](said)


def summed(bases: Bases, number: int) -> tuple[int, int]:
    """The XOR of the bases of a number's bits."""
    row = column = 0
    for bit, (down, across) in enumerate(bases):
        if number >> bit & 1:
            row, column = row ^ down, column ^ across
    return row, column


def _elements(said: Mapping[str, Any], first: str, second: str) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Every pair of two numbers, with the element that is there."""
    for a, b in product(range(1 << len(said[first])), range(1 << len(said[second]))):
        (row, column), (down, across) = summed(said[first], a), summed(said[second], b)
        yield (row ^ down, column ^ across), a, b


# -- tensor memory ---------------------------------------------------------------------------------


def _accumulator(said: Mapping[str, Any]) -> Iterator[Claim]:
    """D; where half the lanes have rows, the other half is of a second tile, which is slab 1."""
    m, ctas = said["m"], said["cta_group"]
    for dtype, slab in product(("f16",) if said["wide"] == 2 else ("f32", "s32"), range(said["slabs"])):
        values = {"dtype": dtype, "m": m, "n": 64, "cta_group": ctas, "slab": slab}
        found = [*_lanes(said, m // ctas, ctas, slab, said["wide"])]
        yield claim(f"accumulator of M = {m}", "tcgen05.D", found, **values)


def _lanes(said: Mapping[str, Any], rows: int, ctas: int, slab: int, wide: int = 1) -> Iterator[Place]:
    half = said["m"] == 64
    for (row, column), lane, step in _elements(said, "rows", "cols"):
        if step % wide or (half and (lane >> 4 & 1) != slab):
            continue
        for cta in range(ctas):
            index = (row % rows + cta * rows, column)
            yield index, {"TLane": lane, "TCol": step, "cbx": cta}


def _multiplicand(said: Mapping[str, Any]) -> Iterator[Claim]:
    for dtype, slab in product(TYPES[said["bits"]], range(said["slabs"])):
        found = _lanes(said, said["m"], 1, slab)
        yield claim(f"A of M = {said['m']}", "tcgen05.A", found, m=said["m"], dtype=dtype, slab=slab)


def _factors(said: Mapping[str, Any]) -> Iterator[Claim]:
    """Scale factors of one CTA, each in the lanes of every warp."""
    found = [
        ((row, column), {"TLane": lane, "TCol": step})
        for (row, column), lane, step in _elements(said, "rows", "cols")
    ]
    for side in ("sfa", "sfb"):
        for values in instances_of(find(f"tcgen05.{side}")).values():
            if values["cta_group"] == 1 and (values["rows"], values["sf_k"]) == (said["extent"], 4):
                yield claim("scales", f"tcgen05.{side}", found, **values)


def _load(said: Mapping[str, Any]) -> Iterator[Claim]:
    """The registers that one load gives to the first warp, and that one store takes."""
    found = [
        (element, {"laneid": lane, "reg": register})
        for element, lane, register in _elements(said, "lane", "reg")
    ]
    for entry in ("ld", "st"):
        yield claim("registers", f"tcgen05.{entry}", found, form=said["form"], repeat=said["repeat"])


# -- shared memory ---------------------------------------------------------------------------------


def _tile(said: Mapping[str, Any]) -> Iterator[Claim]:
    """Chunks of the swizzle's width follow one another across the direction that is contiguous."""
    major = said["major"]
    place = {summed(said["offset"], offset): offset for offset in range(1 << len(said["offset"]))}
    order = "mn" if major == "k" else "k"
    sizes = (said["bits"], said["mode"], major, said["rows"], said["k"], order)
    offset: Callable[[int, int], int] = lambda row, k: place[row, k]  # noqa: E731
    yield from Tile(f"NVMMASharedLayout of {said['mode']}", TYPES[said["bits"]], *sizes, offset).claims()


_CLAIMS = {"D": _accumulator, "A": _multiplicand, "scales": _factors, "ld": _load, "smem": _tile}
