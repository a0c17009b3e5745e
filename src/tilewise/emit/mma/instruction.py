"""Which mma.sync a kernel is around, and what becomes of its sums."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.mma.instructions import Family, Instruction, Shape, check_input, families_of

CONVERTED = {"f32": ("f16", "bf16")}
"""What D can be rounded to where it is stored."""


def chosen(
    dtype_a: DType | str,
    dtype_b: DType | str | None,
    shape: Shape | str | None,
    accumulator: DType | str | None,
    op: str | None,
    arch: Architecture | None,
) -> tuple[Family, Instruction]:
    """The largest instruction that there is for all that was said, and its family.

        refused  TW602 where there is none

    >>> print(chosen("f16", None, None, None, None, Architecture.of("sm_75"))[1])
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    """
    a = DType.of(dtype_a)
    b = a if dtype_b is None else DType.of(dtype_b)
    for own in (a, b):
        _check_type(own, shape)
    having = [family for family in families_of(shape, a) if (a.name, b.name) in family.inputs]
    if not having:
        pairs = [pair for family in families_of(None, a) for pair in family.inputs if pair[0] == a.name]
        raise Refused(
            "TW602",
            f"no mma.sync multiplies {a} by {b}",
            witness={"A": a.name, "B": b.name},
            hint=f"{a} is multiplied by {' or '.join(dict.fromkeys(partner for _, partner in pairs))}",
        )
    wanted = op or ("and.popc" if a.name == "b1" else "")
    with_op = [family for family in having if wanted in family.ops]
    if not with_op:
        raise Refused(
            "TW602",
            f"no mma.sync does {wanted} on {a}",
            witness={"dtype": a.name, "op": wanted},
            hint="and.popc and xor.popc are for b1",
        )
    found = [family for family in with_op if arch is None or family.needs.met(arch)]
    if not found:
        first = min(with_op, key=lambda own: (own.since, -own.shape.m * own.shape.n * own.shape.k))
        raise Refused(
            "TW602",
            f"{arch} has no mma.sync that multiplies {a} by {b} so",
            witness={"arch": str(arch), "needs": str(first.needs)},
            hint=f"{first.needs} have {first.shape}",
        )
    family = max(found, key=lambda own: own.shape.m * own.shape.n * own.shape.k)
    into = _accumulator(family, a, accumulator)
    return family, Instruction(family.shape, a.name, b.name, into.name, wanted)


def _check_type(own: DType, shape: Shape | str | None) -> None:
    """Refuse a type, or a shape of it, that no instruction multiplies."""
    known = families_of(None, own)
    check_input(shape if shape is not None else known[0].shape if known else "m16n8k16", own)


def _accumulator(family: Family, a: DType, wanted: DType | str | None) -> DType:
    if wanted is None:
        return DType.of("f32" if "f32" in family.results else family.results[0])
    into = DType.of(wanted)
    if into.name not in family.results:
        raise Refused(
            "TW602",
            f"{a} does not accumulate in {into} with {family.shape}",
            witness={"dtype": a.name, "accumulator": into.name},
            hint=f"it accumulates in {' or '.join(family.results)}",
        )
    return into


def stored_as(instruction: Instruction, wanted: DType | str | None) -> DType:
    """The type of D in memory: that of its sums, unless they are to be rounded.

    refused  TW602 what they are not rounded to
    """
    if wanted is None:
        return DType.of(instruction.d)
    out = DType.of(wanted)
    rounded = CONVERTED.get(instruction.d, ()) if instruction.family.products == 1 else ()
    known = (instruction.d, *rounded)
    if out.name not in known:
        raise Refused(
            "TW602",
            f"D is summed in {instruction.d}, and is not stored as {out}",
            witness={"accumulator": instruction.d, "out": out.name},
            hint=f"known: {' '.join(known)}",
        )
    return out
