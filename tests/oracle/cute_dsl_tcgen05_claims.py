"""The claims of CuTe's Python DSL about tcgen05's instances of the catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from tests.hardware.compiled_products import cute_layout
from tests.oracle.claims import Claim, Place, claim
from tests.oracle.shape_claims import claim_of_shapes
from tests.oracle.tile_claims import Tile

from tilewise import Layout, parse
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.tcgen05.addresses import Address
from tilewise.hardware.tcgen05.kinds import KINDS
from tilewise.tables import table

SCRIPT = Path(__file__).with_name("cute_dsl_tcgen05.py")
FAULTS = {
    ("tcgen05.shapes", "i8"): "N in steps of 8, as of the other kinds",
    ("tcgen05.shapes", "i8 cta_group=2"): "N in steps of 16, as of the other kinds",
    ("tcgen05.D", "f16 m=128 cta_group=2 sparse"): "data path B, that of dense A; the manual has C",
    ("tcgen05.D", "f32 m=128 cta_group=2 sparse"): "data path B, that of dense A; the manual has C",
} | {
    ("tcgen05.A", f"{dtype} {of} sparse"): "all of K, of which half is stored"
    for dtype in ("f16", "bf16", "e4m3", "e5m2")
    for of in ("m=64", "m=128", "m=256 cta_group=2")
}
"""{entry and instance: what it has otherwise}, in the version that pyproject.toml names."""

N = 64
LANE = 65536
"""Columns of 32 bits from a lane to the next."""
WORDS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 2}
"""Columns of one repeat, both halves of 16x32bx2."""


@cache
def layouts() -> list[dict[str, Any]]:
    """Return what the script prints, in a process of its own."""
    environment = os.environ | {"CUTE_DSL_ARCH": "sm_100a"}
    done = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, check=True, env=environment
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def claims() -> Iterator[Claim]:
    """Of all that its script prints."""
    for said in layouts():
        yield from _CLAIMS[said["what"]](said)


def at(layout: Layout, *modes: int) -> int:
    """The place of an index whose every mode is flat, the leftmost digit the fastest."""
    return layout.place(*modes).as_dict().get("m", 0)


# -- tensor memory ---------------------------------------------------------------------------------


def _place(address: int, bits: int) -> dict[str, int]:
    """The lane, and the column in elements."""
    lane, column = divmod(address, LANE * 32 // bits)
    return {"TLane": lane, "TCol": column}


def _pair(said: Mapping[str, Any], columns: int, bits: int) -> Iterator[Place]:
    """The rows of one CTA, and those of the other one after them."""
    layout, rows = parse(said["layout"]), said["m"] // said["cta_group"]
    for row, column in product(range(rows), range(columns)):
        place = _place(at(layout, row + rows * column, 0, 0), bits)
        for cta in range(said["cta_group"]):
            yield (cta * rows + row, column), place | {"cbx": cta}


def _accumulator(said: Mapping[str, Any]) -> Iterator[Claim]:
    of = {name: said[name] for name in ("m", "dtype", "cta_group", "sparse") if name in said}
    found = _pair(said, N, DType.of(said["dtype"]).bits)
    yield claim(f"C of M = {said['m']}", "tcgen05.D", found, n=N, **of)
    if of == {"m": 128, "dtype": "f32", "cta_group": 1}:
        yield _addresses(parse(said["layout"]))


def _addresses(layout: Layout) -> Claim:
    """An address is what it adds for a row, which is a lane there, and for a column."""
    wrong = (
        f"lane {lane}, column {column} is {at(layout, lane + 128 * column, 0, 0):#x}"
        for lane, column in product(range(128), range(N))
        if at(layout, lane + 128 * column, 0, 0) != Address(lane, column).value
    )
    return Claim("tcgen05.address", "", "strides of tensor memory", next(wrong, ""))


def _multiplicand(said: Mapping[str, Any]) -> Iterator[Claim]:
    """A of a pair with 64 rows each it has as 128, and does not say which of them are copies."""
    if (said["m"], said["cta_group"]) == (128, 2):
        return
    of = {name: said[name] for name in ("m", "dtype", "kind", "cta_group", "sparse") if name in said}
    found = _pair(said, said["k"], DType.of(said["dtype"]).bits)
    yield claim(f"A of M = {said['m']}", "tcgen05.A", found, **of)


METADATA = {"f16": ("f16",), "e4m3": ("f8f6f4", "i8", "mxf8f6f4")}
"""{type of A: kinds whose metadata lie as those of it}; of tf32 its function fails."""


def _metadata(said: Mapping[str, Any]) -> Iterator[Claim]:
    """128 rows of one CTA, in bits; an index is two of them."""
    layout = parse(said["layout"])
    found = []
    for row, index in product(range(128), range(said["k"] // 2)):
        lane, bit = divmod(at(layout, row + 128 * 2 * index, 0, 0), LANE * 32)
        found.append(((row, index), {"TLane": lane, "TCol": bit // 2}))
    for kind in METADATA[said["dtype"]]:
        yield claim(f"metadata of {said['dtype']}", "tcgen05.E", found, kind=kind, m=128)
        pair = [((row + 128 * c, k), place | {"cbx": c}) for (row, k), place in found for c in (0, 1)]
        yield claim(f"metadata of {said['dtype']}", "tcgen05.E", pair, kind=kind, m=256, cta_group=2)


# -- loads and copies ------------------------------------------------------------------------------


def _load(said: Mapping[str, Any]) -> Iterator[Claim]:
    """The block is lane after lane; the two halves of 16x32bx2 are one lane's."""
    layout = parse(said["layout"])
    threads, values = extents_of(layout.shape)
    halves = 2 if said["form"] == "16x32bx2" else 1
    columns = WORDS[said["form"]] * int(said["repeat"][1:]) * (2 if said["packed"] else 1)
    flag = "pack" if said["what"] == "ld" else "unpack"
    of = {"form": said["form"], "repeat": said["repeat"], flag: said["packed"]}
    found = []
    for lane, value in product(range(threads), range(values)):
        row, column = divmod(at(layout, lane, value), columns)
        index = (row, *divmod(column, columns // halves)) if halves == 2 else (row, column)
        found.append((index, {"laneid": lane, "reg": value}))
    yield claim(f"{said['what']} {said['form']}", f"tcgen05.{said['what']}", found, **of)


def _copy(said: Mapping[str, Any]) -> Iterator[Claim]:
    """From a byte of the source to one of the block that is written."""
    source, destination = parse(said["source"]), parse(said["destination"])
    form, _, multicast = said["form"].partition(".")
    width = int(form.partition("x")[2][:-1]) // 8
    found = []
    for value in range(source.size):
        if form == "4x256b":
            lane, byte = _refreshed(at(destination, 0, value))
            index = (_refreshed(at(source, 0, value))[0] // 32, byte)
        else:
            block, byte = divmod(at(destination, 0, value), width)
            lane = _lane(block, multicast)
            index = divmod(at(source, 0, value), width)
        found.append((index, {"TLane": lane, "TCol": byte}))
    yield claim(f"copy of {form}", "tcgen05.cp", found, form=form, multicast=multicast or None)


def _lane(block: int, multicast: str) -> int:
    """Of 01_23 the second 32 rows are 64 lanes on, and the copy is 32 on: ValID in copy_traits_sm100.hpp."""
    if multicast != "warpx2::01_23":
        return block
    rest, row = divmod(block, 32)
    return row + (0, 64, 32, 96)[rest]


def _refreshed(index: int) -> tuple[int, int]:
    """It has the bits of 128 lanes, the lanes the fastest, of which 4 are written; (lane, byte) of one."""
    bit, lane = divmod(8 * index, 128)
    return lane, bit // 8


# -- scale factors ---------------------------------------------------------------------------------

FACTOR_ROWS = 256
"""N of the products that the script builds."""

FACTORS = 4
"""Factors of a row of them."""

Digits = list[tuple[int, int]]
"""(extent, stride), the fastest first."""


def _factors(said: Mapping[str, Any]) -> Iterator[Claim]:
    """SFA of a pair with 64 rows each it has as tiles of 128, and does not say which rows those are."""
    entry = f"tcgen05.{said['what']}"
    if (entry, said["m"], said["cta_group"]) == ("tcgen05.sfa", 128, 2):
        return
    for values in instances_of(find(entry)).values():
        kind = KINDS[values["kind"]]
        usual = kind.scalings[-1]  # that of the instances, which name none
        same = all(values[name] == said[name] for name in ("kind", "m", "cta_group"))
        same = same and (said["what"] == "sfa" or values["rows"] == FACTOR_ROWS) and values["sf_k"] == FACTORS
        if same and (usual.dtype, kind.k // usual.vector) == (said["dtype"], said["vector"]):
            yield claim(f"{said['what']} of {said['kind']}", entry, _of_ctas(said), **values)


def _of_ctas(said: Mapping[str, Any]) -> Iterator[Place]:
    """Each CTA has its own rows of A, and all those of B."""
    for (row, factor), place in _of_one(said["layout"]):
        for cta in range(said["cta_group"]):
            further = cta * said["m"] // said["cta_group"] if said["what"] == "sfa" else 0
            yield (row + further, factor), place | {"cbx": cta}


def _of_one(text: str) -> Iterator[Place]:
    """((rows and copies, elements and factors), tiles along M, instructions along K)."""
    (((*rows, copies), (_, each)), _, steps), (((*down, apart), (_, across)), _, further) = _read(text)
    first, second = _digits(rows, down), [(each, across), (steps, further)]
    for row, factor, copy in product(range(_size(first)), range(_size(second)), range(copies)):
        yield (row, factor), _place(_sum(first, row) + _sum(second, factor) + copy * apart, 8)


def _blocks(said: Mapping[str, Any]) -> Iterator[Claim]:
    """Blocks in memory, of which an element of A is an index: as many share a factor as its stride is 0."""
    (rows, columns, _), (down, across, _) = _read(said["layout"])
    first = _digits(rows, down)
    second = [digit for digit in _digits(columns, across) if digit[1] or digit[0] == 1]
    found = (
        ((row, factor), {"m": _sum(first, row) + _sum(second, factor)})
        for row, factor in product(range(said["rows"]), range(said["sf_k"]))
    )
    yield claim("tile_atom_to_shape_SF", "tcgen05.sf", found, rows=said["rows"], sf_k=said["sf_k"])


def _read(text: str) -> tuple[Any, Any]:
    shape, strides = text.split(":")
    return literal_eval(shape), literal_eval(strides)


def _digits(shape: Any, strides: Any) -> Digits:
    if isinstance(shape, int):
        return [(shape, strides)]
    return [digit for pair in zip(shape, strides, strict=True) for digit in _digits(*pair)]


def _size(digits: Digits) -> int:
    return prod(extent for extent, _ in digits)


def _sum(digits: Digits, index: int) -> int:
    total = 0
    for extent, stride in digits:
        index, digit = divmod(index, extent)
        total += digit * stride
    return total


# -- shared memory ---------------------------------------------------------------------------------

MODES = {"INTER": "none", "SW32": "32B", "SW64": "64B", "SW128": "128B", "SW128_32B": "128B"}


def _tile(said: Mapping[str, Any]) -> Iterator[Claim]:
    """In elements, and the swizzle in bytes; atoms along K first where they keep 32 bytes together.

    Its C++ has types of 8 bits for elements of 6 and 4 bits that have a byte each, `unpacksmem`.
    """
    bits = DType.of(said["dtype"]).bits
    offsets = table(cute_layout(said["layout"], bits)).array.tolist()
    wide = said["mode"] == "SW128_32B"
    sizes = (bits, MODES[said["mode"]], said["major"], said["rows"], said["k"], "k" if wide else "mn")
    dtypes = ("u8", "e2m3", "e3m2", "e2m1") if said["dtype"] == "u8" else (said["dtype"],)
    of = f"{said['major']} {said['mode']} of {said['dtype']}"
    found = Tile(of, dtypes, *sizes, lambda row, k: offsets[row][k], 32 if wide else 16)
    yield from found.claims()


def _shapes(said: Mapping[str, Any]) -> Iterator[Claim]:
    taken = {(m, n) for m, n in said["taken"]}
    of = {"kind": said["kind"], "cta_group": said["cta_group"], "sparse": False, "ws": False}
    yield claim_of_shapes("its operation", of, lambda m, n: (m, n) in taken)


def _none(said: Mapping[str, Any]) -> Iterator[Claim]:
    """Check that we have no form that it refuses to repeat so often."""
    name = " ".join([said["form"], said["repeat"], *["pack"] * said["packed"]])
    assert name not in instances_of(find("tcgen05.ld")), name
    yield from ()


_CLAIMS = {
    "D": _accumulator,
    "A": _multiplicand,
    "E": _metadata,
    "ld": _load,
    "st": _load,
    "cp": _copy,
    "sfa": _factors,
    "sfb": _factors,
    "sf": _blocks,
    "smem": _tile,
    "shapes": _shapes,
    "none": _none,
}
