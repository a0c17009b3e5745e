"""TIRx's claims about tcgen05: its layouts of tensor memory, of registers, of shared memory, and its shapes.

Its layouts are those of one CTA, and count elements that lie packed. Its authors say that
they have checked tcgen05.cp on a B200, by copies there and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from inspect import getsource
from itertools import product
from typing import Any

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.shape_claims import claim_of_shapes
from tests.oracle.tile_claims import Tile

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.tcgen05.kinds import KINDS

N = 64
PATHS = {
    (256, 2): "A",
    (128, 2): "B",
    (128, 1): "D",
    (64, 1): "F",
}
"""{M and CTAs: the letter that TIRx has for it}, but for these."""
OTHERS = {(128, 2, "sparse"): "C", (64, 1, "ws"): "E", (32, 1, "ws"): "G"}

DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "float32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "s8": "int8",
    "u8": "uint8",
    "e2m1": "float4_e2m1fn",
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e2m1": 4}

FAULTS = {
    ("tcgen05.A", f"{dtype} m=64"): "its lanes are 0 to 63, where those of D of the same product are not"
    for dtype in DTYPES
    if dtype != "e2m1"
} | {
    ("tcgen05.shapes", f"{kind}{pair}{sparse}"): "N in steps of 16 for M = 128, and of 32 for a pair, as once"
    for kind, pair, sparse in product(("f16", "tf32", "f8f6f4"), ("", " cta_group=2"), ("", " sparse"))
}
"""{entry and instance: what TIRx has otherwise}, in the version that pyproject.toml names."""


def missing() -> str | None:
    """Return why this machine cannot ask it, or None."""
    return None if find_spec("tvm") else "apache-tvm is not installed"


def claims() -> Iterator[Claim]:
    """Of all that it has."""
    yield from _accumulators()
    yield from _multiplicands()
    yield from _loads()
    yield from _copies()
    yield from _factors()
    yield from _tiles()
    yield from _shapes()
    yield _address()


# -- its layouts -----------------------------------------------------------------------------------


def places(layout: Any, shape: tuple[int, ...], renamed: dict[str, str] | None = None) -> Iterator[Place]:
    """The elements of an index of that shape, with every copy; the last digit of an index is the fastest."""
    axes = renamed or {}
    digits = [
        (int(each.extent), int(each.stride), axes.get(each.axis.name, each.axis.name))
        for each in layout.shard
    ]
    copies = [(int(each.extent), int(each.stride), each.axis.name) for each in layout.replica]
    start = {axes.get(axis.name, axis.name): int(steps) for axis, steps in dict(layout.offset).items()}
    for flat, index in enumerate(product(*map(range, shape))):
        base, rest = dict(start), flat
        for extent, stride, axis in reversed(digits):
            rest, digit = divmod(rest, extent)
            base[axis] = base.get(axis, 0) + digit * stride
        yield from ((index, place) for place in _repeated(base, copies))


def _repeated(base: dict[str, int], copies: list[tuple[int, int, str]]) -> Iterator[dict[str, int]]:
    for digits in product(*(range(extent) for extent, _, _ in copies)):
        place = dict(base)
        for digit, (_, stride, axis) in zip(digits, copies, strict=True):
            place[axis] = place.get(axis, 0) + digit * stride
        yield place


def _of_ctas(own: Iterable[Place], ctas: int, rows: int) -> Iterator[Place]:
    """The rows of a pair: those of each CTA follow one another."""
    for (row, column), place in own:
        for cta in range(ctas):
            yield (cta * rows + row, column), place | {"cbx": cta}


# -- tensor memory ---------------------------------------------------------------------------------


def _letter(values: dict[str, Any]) -> str:
    m, ctas = values["m"], values["cta_group"]
    for (other, group, word), letter in OTHERS.items():
        if (m, ctas) == (other, group) and values[word]:
            return letter
    return PATHS[m, ctas]


def _accumulators() -> Iterator[Claim]:
    """D of 32 bits: it does not say that narrower elements lie a column apart."""
    from tvm.tirx.layout import tmem_datapath_layout

    for values in instances_of(find("tcgen05.D")).values():
        if values["dtype"] == "f16":
            continue
        letter, rows = _letter(values), values["m"] // values["cta_group"]
        layout = tmem_datapath_layout(letter, rows, N, values["slab"])
        own = places(layout, (rows, N))
        found = _of_ctas(own, values["cta_group"], rows)
        yield claim(f"datapath {letter}", "tcgen05.D", found, **values | {"n": N})


def _multiplicands() -> Iterator[Claim]:
    """A of types that fill what they are stored in; of E it has two banks, one for each half of N."""
    from tvm.tirx.layout import tmem_mma_operand_layout

    for values in instances_of(find("tcgen05.A")).values():
        if values["dtype"] not in DTYPES or values["sparse"] or values["slab"]:
            continue
        if values["ws"] and values["m"] != 64:
            continue
        if values["dtype"] == "e2m1" and values["kind"] not in ("mxf4", "mxf4nvf4"):
            continue
        m, ctas, dtype = values["m"], values["cta_group"], values["dtype"]
        rows, k = m // ctas, 256 // BITS.get(dtype, 8)
        banks = (2, rows, k) if values["ws"] else (rows, k)
        layout = tmem_mma_operand_layout("A", banks, DTYPES[dtype], M=m, cta_group=ctas, ws=values["ws"])
        own = ((index[-2:], place) for index, place in places(layout, banks))
        found = _of_ctas(own, ctas, rows)
        yield claim(f"operand A of M = {m}", "tcgen05.A", found, **values)


def _loads() -> Iterator[Claim]:
    """Loads and stores of words: the lanes of the first warp have the first 16 rows, or 32."""
    from tvm.tirx import layout as theirs

    for form, repeats in theirs._TCGEN05_ATOM_REPS.items():
        rows, width = (128, 1) if form == "32x32b" else (64, theirs._TCGEN05_COL_FACTOR_FP32[form])
        for repeat in repeats:
            shape = (rows, width * repeat)
            layout = theirs.tcgen05_atom_layout(form, shape, "float32")
            found = [*_first_warp(places(layout, shape, {"m": "reg"}))]
            for entry in ("ld", "st"):
                yield claim(f"atom {form}", f"tcgen05.{entry}", found, form=form, repeat=f"x{repeat}")


def _first_warp(every: Iterable[Place]) -> Iterator[Place]:
    for index, place in every:
        warp, lane = place.get("wid_in_wg", 0), place.get("laneid", 0)
        if "tid_in_wg" in place:
            warp, lane = divmod(place["tid_in_wg"], 32)
        if not warp:
            yield index, {"laneid": lane, "reg": place.get("reg", 0)}


def _copies() -> Iterator[Claim]:
    from tvm.backend.cuda.tile_primitive.copy_async.tcgen05_cp import _cp_lane_replica_pattern

    for values in instances_of(find("tcgen05.cp")).values():
        pattern, replica = _cp_lane_replica_pattern(values["form"], values["multicast"] or "")
        width = int(values["form"].partition("x")[2][:-1]) // 8
        copies = [(extent, stride, "TLane") for extent, stride in replica]
        found = (
            ((row, byte), place)
            for row, lane in enumerate(_lanes(pattern))
            for byte in range(width)
            for place in _repeated({"TLane": lane, "TCol": byte}, copies)
        )
        yield claim(f"copy of {values['form']}", "tcgen05.cp", found, **values)


def _lanes(pattern: list[tuple[int, int]]) -> Iterator[int]:
    for digits in product(*(range(extent) for extent, _ in pattern)):
        yield sum(digit * stride for digit, (_, stride) in zip(digits, pattern, strict=True))


# -- scale factors ---------------------------------------------------------------------------------


def _factors() -> Iterator[Claim]:
    """One CTA's; of a pair that multiplies 256 rows SFA is each CTA's own, and SFB is in both."""
    from tvm.backend.cuda.tile_primitive.gemm_async.tcgen05 import sf_smem_layout, sf_tmem_layout

    for side in ("sfa", "sfb"):
        for values in instances_of(find(f"tcgen05.{side}")).values():
            ctas, sf_k = values["cta_group"], values["sf_k"]
            if side == "sfb" and ctas == 2 and values["m"] == 128:
                continue  # it has the four copies of one CTA, and not two halves of N
            rows = values["rows"] // ctas if side == "sfa" else values["rows"]
            usual = KINDS[values["kind"]].scalings[-1]  # that of the instances, which name none
            own = places(sf_tmem_layout(rows, sf_k, usual.vector), (rows, sf_k))
            found = _of_ctas(own, ctas, rows) if side == "sfa" else _in_each(own, ctas)
            yield claim(f"scales of {usual}", f"tcgen05.{side}", found, **values)
    for values in instances_of(find("tcgen05.sf")).values():
        shape = (values["rows"], values["sf_k"])
        yield claim("blocks of scales", "tcgen05.sf", places(sf_smem_layout(*shape, 4), shape), **values)


def _in_each(own: Iterable[Place], ctas: int) -> Iterator[Place]:
    for index, place in own:
        yield from ((index, place | {"cbx": cta}) for cta in range(ctas))


# -- shared memory, and products -------------------------------------------------------------------


def _tiles() -> Iterator[Claim]:
    """K-major tiles, atoms down the rows first."""
    from tvm.backend.cuda.tile_primitive.tma_utils import mma_shared_layout

    for (number, mode), (dtype, theirs) in product(enumerate(("none", "32B", "64B", "128B")), DTYPES.items()):
        bits = BITS.get(dtype, 8)
        shape = (64, max(256, 16 * int(mode[:-1] if number else 16)) // bits)
        layout = mma_shared_layout(theirs, number, list(shape))
        yield from Tile(
            f"tile of {theirs}", (dtype,), bits, mode, "k", *shape, "mn", _offset(layout, shape)
        ).claims()


def _offset(layout: Any, shape: tuple[int, int]) -> Any:
    known: dict[tuple[int, int], int] = {}

    def offset(row: int, column: int) -> int:
        if (row, column) not in known:
            known[row, column] = int(layout.apply(row, column, shape=list(shape))["m"])
        return known[row, column]

    return offset


def _shapes() -> Iterator[Claim]:
    """Every M and N of a kind; it has no word for `.ws`."""
    from tvm.backend.cuda.cpp.descriptors import _check_tcgen05_mma_matrix_shape

    for values in instances_of(find("tcgen05.shapes")).values():
        if values["ws"]:
            continue
        depth = KINDS[values["kind"]].depth(values["sparse"])

        def taken(m: int, n: int, values: Any = values, depth: int = depth) -> bool:
            such = (values["kind"], values["cta_group"], m, n, depth, values["sparse"])
            try:
                return bool(_check_tcgen05_mma_matrix_shape(*such))
            except ValueError:
                return False

        yield claim_of_shapes("the check of shapes", values, taken)


def _address() -> Claim:
    """Return the claim about addresses: the code that it writes makes them as ours does."""
    from tvm.backend.cuda.codegen import header

    made = "(row_idx << 16) | col_idx" in getsource(header)
    return Claim("tcgen05.address", "", "get_tmem_addr", "" if made else "it is made otherwise")
