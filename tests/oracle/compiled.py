"""Products of tcgen05 that two compilers make: which ones, and the words that stand in their PTX.

Gluon is Triton's, the other one is CuTe's Python DSL. Neither needs a GPU. Their products are recorded beside
the tests of `tests/hardware/test_compiled.py`, which every machine runs; this writes them anew:

    python -m tests.oracle.compiled
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests.hardware.compiled_products import RECORDS, START
from tests.oracle.ptx_values import Use, Values

FURTHER = 0x8000
"""The distance by which shared memory begins further on when a kernel is read again."""

Case = dict[str, Any]


# -- what is asked ---------------------------------------------------------------------------------


def gluon_cases() -> Iterator[Case]:
    """All modes and majors, then tiles of several instructions, sizes, pairs of CTAs, scales."""
    for dtype, swizzle, major in product(("f16", "e4m3"), (32, 64, 128), ("k", "mn")):
        yield _case(dtype, 128, 64, swizzle=swizzle, majors=(major, major))
    for dtype in ("bf16", "e5m2"):
        yield _case(dtype, 64, 128, majors=("mn", "k"))
        yield _case(dtype, 128, 256, majors=("k", "mn"))
    for swizzle in (32, 64, 128):
        yield _case("tf32", 128, 64, swizzle=swizzle)
    for dtype, order in product(("f16", "e4m3", "tf32"), ("k", "mn")):
        for major in ("k", "mn")[: 1 if dtype == "tf32" else 2]:
            yield _case(dtype, 128, 64, swizzle=0, order=order, majors=(major, major))
    yield _case("f16", 128, 128, tile=(256, 256, 128))
    yield _case("f16", 64, 64, tile=(128, 128, 128), majors=("mn", "mn"))
    yield _case("e4m3", 128, 128, tile=(256, 128, 256), majors=("mn", "k"))
    yield _case("f16", 128, 128, tile=(128, 128, 256), swizzle=32, majors=("mn", "mn"))
    yield _case("f16", 128, 256, tile=(128, 256, 32), swizzle=64, majors=("mn", "mn"))
    yield _case("e4m3", 128, 256, tile=(128, 256, 512), majors=("mn", "mn"))
    yield _case("f16", 128, 128, tile=(256, 128, 64), swizzle=0, order="mn", majors=("mn", "k"))
    for n in (16, 32):
        yield _case("f16", 64, n)
    yield _case("f16", 128, 128, d="f16")
    for dtype in ("s8", "u8"):
        yield _case(dtype, 128, 64)
    yield _case("f16", 128, 64, a_in_tensor_memory=True)
    yield _case("e4m3", 64, 64, a_in_tensor_memory=True)
    for major in ("k", "mn"):
        yield _case("f16", 256, 128, cta_group=2, majors=(major, major))
    yield _case("f16", 128, 128, cta_group=2)
    yield _case("e4m3", 256, 256, cta_group=2)
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e4m3"), ("e4m3", "e2m1")):
        yield _case(a, 128, 64, b=b, kind="mxf8f6f4", tile=(128, 64, 256), scale_dtype="ue8m0", block=32)
    yield _case(
        "e4m3",
        128,
        128,
        kind="mxf8f6f4",
        tile=(256, 128, 128),
        majors=("k", "mn"),
        scale_dtype="ue8m0",
        block=32,
    )
    for n in (32, 256):
        yield _case("e2m1", 128, n, kind="mxf4", tile=(128, n, 256), scale_dtype="ue8m0", block=32)
        yield _case("e2m1", 128, n, kind="mxf4nvf4", tile=(128, n, 256), scale_dtype="ue4m3", block=16)


def cute_cases() -> Iterator[Case]:
    """All atoms and majors, then sizes, pairs of CTAs, other types, scales."""
    for dtype, atom, major in product(("f16", "e4m3", "s8"), ATOMS, ("k", "mn")):
        yield _case(dtype, 128, 1024 // BITS.get(dtype, 8), atom=atom, majors=(major, major))
    for atom in ATOMS:
        yield _case("tf32", 128, 64, atom=atom)
    yield _case("tf32", 128, 64, atom="SW128_32B", majors=("mn", "mn"))
    yield _case("tf32", 64, 32, tile=(64, 32, 64), atom="SW128_32B", majors=("mn", "mn"))
    yield _case("f16", 128, 64, atom="SW128_32B", majors=("mn", "mn"))
    yield _case("tf32", 128, 64, atom="SW128", majors=("mn", "mn"))
    for dtype in ("bf16", "e5m2", "u8"):
        yield _case(dtype, 64, 128, atom="SW64", majors=("k", "mn"))
        yield _case(dtype, 128, 32, atom="SW32", majors=("mn", "k"))
    for n, atom in ((8, "SW128"), (24, "INTER"), (72, "SW64"), (200, "SW32"), (256, "SW128")):
        yield _case("f16", 64, n, atom=atom)
    yield _case("f16", 128, 192, tile=(128, 192, 128), atom="SW128", majors=("mn", "mn"))
    yield _case("f16", 128, 96, tile=(128, 96, 96), atom="SW32")
    yield _case("f16", 128, 64, d="f16", atom="SW128")
    yield _case("e5m2", 128, 64, b="e4m3", atom="SW128")
    for atom, major in product(("INTER", "SW128"), ("k", "mn")):
        yield _case("f16", 256, 128, cta_group=2, atom=atom, majors=(major, major))
    yield _case("e4m3", 128, 128, cta_group=2, atom="SW64", majors=("k", "mn"))
    for n, major in ((64, "k"), (192, "mn")):
        such = {"kind": "mxf8f6f4", "tile": (128, n, 256), "scale_dtype": "ue8m0", "block": 32}
        yield _case("e4m3", 128, n, b="e5m2", majors=("k", major), atom="SW64" if n > 64 else "SW128", **such)
    for block, dtype in ((32, "ue8m0"), (16, "ue8m0"), (16, "ue4m3")):
        such = {"kind": "mxf4nvf4", "tile": (256, 256, 256), "scale_dtype": dtype, "block": block}
        yield _case("e2m1", 256, 256, cta_group=2, atom="SW128", **such)
        yield _case("e2m1", 128, 64, atom="SW64", **such | {"tile": (128, 64, 256)})


ATOMS = ("INTER", "SW32", "SW64", "SW128")
KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "u8": "i8"}
BITS = {"f16": 16, "bf16": 16, "tf32": 32}


def _case(a: str, m: int, n: int, majors: tuple[str, str] = ("k", "k"), **such: Any) -> Case:
    """A case, with K of 128 bytes where its tile is not said, and a 128-byte swizzle."""
    kind = KINDS.get(a, "f8f6f4")
    usual = {"kind": kind, "b": a, "d": "s32" if kind == "i8" else "f32", "cta_group": 1}
    tile = (m, n, 1024 // BITS.get(a, 8))
    mode = {} if "atom" in such else {"swizzle": 128}
    return (
        {"a": a, "m": m, "n": n, "a_major": majors[0], "b_major": majors[1]}
        | usual
        | mode
        | {"tile": tile}
        | such
    )


# -- what is answered ------------------------------------------------------------------------------

COMPILERS = {"gluon": gluon_cases, "cute": cute_cases}
"""{name of the script, and of the record: its cases}."""


def compiled(compiler: str) -> list[dict[str, Any]]:
    """Return what a compiler makes of its cases: a kernel each, with its layouts and its products."""
    cases = json.loads(json.dumps([*COMPILERS[compiler]()]))
    script = Path(__file__).with_name(f"{compiler}_products.py")
    done = subprocess.run(
        [sys.executable, script], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    return [_kernel(case, made) for case, made in zip(cases, json.loads(done.stdout), strict=True)]


def _kernel(case: Case, made: dict[str, Any]) -> dict[str, Any]:
    ptx = made.pop("ptx")
    here, there = (Values(ptx, shared) for shared in (START, START + FURTHER))
    uses = [use for use in here.uses if use.name.startswith("tcgen05.mma")]
    products = [_product(here, use) for use in uses]
    for said, moved in zip(products, (_product(there, use) for use in uses), strict=True):
        for side in "ab":
            assert moved[side] is None or moved[side] == said[side] + FURTHER // 16, "only the start is moved"
    (instruction,) = {use.name.partition(".collector")[0] for use in uses}
    return {"case": case, "instruction": instruction, "declared": made, "products": products}


def _product(values: Values, use: Use) -> dict[str, int | None]:
    """The words of one instruction; A has none where it is in tensor memory."""
    d, a, b, word, *others = use.operands
    factors = [values.of(other) for other in others if other.startswith("[")]
    said = {"a": None if a.startswith("[") else values.of(a), "b": values.of(b), "word": values.of(word)}
    return {**said, "d": values.of(d), **dict(zip(("sfa", "sfb"), factors, strict=False))}


def record(compiler: str) -> None:
    """Writes what a compiler makes."""
    text = json.dumps(compiled(compiler), separators=(",", ":"))
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{compiler}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    for name in sys.argv[1:] or COMPILERS:
        record(name)
