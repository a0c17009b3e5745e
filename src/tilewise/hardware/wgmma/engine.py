"""wgmma as an engine of matrix descriptors: its fields, and the functions that its commands call."""

from __future__ import annotations

from tilewise.core.algebra.slicing import Slices
from tilewise.core.dtypes import DType
from tilewise.hardware.engines import Engine, Intake
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.sources import PTX_DESCRIPTOR
from tilewise.hardware.wgmma import reads, words
from tilewise.hardware.wgmma.descriptor import (
    BASE_UNIT,
    FIELDS,
    LIMIT,
    SWIZZLED_K_MAJOR_LBO,
    Descriptor,
    base_offset_of,
    reserved_bits,
)
from tilewise.hardware.wgmma.instructions import INPUTS, MAJORS, OPERANDS, Input, M, check_operand
from tilewise.hardware.wgmma.stepping import PATTERNS, Feeding, Stages, feeding, placements
from tilewise.hardware.wgmma.tiles import ORDERS, atom, tile


def default_lbo(mode: Mode | str, major: str) -> int | None:
    """The LBO of a descriptor for which none was given, where there is a custom; None where it is read."""
    return SWIZZLED_K_MAJOR_LBO if major == "k" and Mode.of(mode).bits else None


def intake(dtype: DType | str, operand: str, n: int | None = None) -> Intake:
    """What a wgmma takes of an operand: 64 rows of A, a legal N of B.

    >>> intake("s8", "B").rows[:5], intake("s8", "B", n=48).rows, intake("s8", "B").majors
    ((8, 16, 24, 32, 48), (48,), ('k',))
    """
    row = Input.of(dtype)
    if n is not None:
        row.check_n(n)
    of_a = check_operand(operand) == "A"
    return Intake(
        operand=operand,
        name=row.name,
        dtype=row.dtype,
        k=row.k,
        rows=(M,) if of_a else row.n if n is None else (n,),
        modes={major: tuple(MODES.values()) for major in row.majors},
        m=M,
        n=n,
        no_major=row.no_major,
    )


def read(descriptor: Descriptor, *, dtype: DType | str, major: str, rows: int, k: int) -> Slices:
    """The bytes that a descriptor reads of rows x k elements; a wgmma's K is 32 bytes.

    >>> read(Descriptor(sbo=1024, mode="128B"), dtype="bf16", major="k", rows=64, k=16)[0].box
    ((0, 64), (0, 16))
    """
    found = reads.pieces(descriptor, dtype=dtype, major=major, n=rows)
    assert k == found[0].box[1][1], f"a wgmma has no K of {k} {dtype}"
    return found


def unread(descriptor: Descriptor, *, dtype: DType | str, major: str, rows: int, k: int) -> tuple[str, ...]:
    """The fields of which any other value reads the same bytes.

    >>> unread(Descriptor(sbo=1024, mode="128B"), dtype="bf16", major="k", rows=64, k=16)
    ('lbo',)
    """
    return reads.unread(descriptor, dtype=dtype, major=major, n=rows)


def feed(
    intake: Intake,
    mode: Mode,
    major: str,
    rows: int,
    k: int,
    order: str,
    one: int | None = None,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding:
    """The descriptors of a tile for instructions of `one` rows, or of the most that feed it.

    >>> feed(intake("bf16", "B"), Mode.of("128B"), "k", 96, 64, "mn").n
    96
    """
    n = None if intake.operand == "A" else one
    return feeding(
        mode, major, intake.name, rows, k, order, operand=intake.operand, n=n, base=base, pattern=pattern
    )


ENGINE = Engine(
    name="wgmma",
    fields=FIELDS,
    source=PTX_DESCRIPTOR,
    majors=MAJORS,
    operands=OPERANDS,
    shared_end=reads.SHARED_END,
    descriptor=Descriptor,
    made_of=(),
    decode=Descriptor.decode,
    reserved=reserved_bits,
    default_lbo=default_lbo,
    operand=words.Operand,
    words=words.words,
    ignored=words.ignored,
    remarks=words.remarks,
    pieces=reads.pieces,
    addresses=reads.addresses,
    extremes=reads.extremes,
    stages=Stages,
    placements=placements,
    types=tuple(INPUTS),
    options=("n",),
    sizes=("n",),
    intake=intake,
    modes=MODES,
    orders=ORDERS,
    patterns=PATTERNS,
    limit=LIMIT,
    base_unit=BASE_UNIT,
    carries=True,
    spare={"lbo": SWIZZLED_K_MAJOR_LBO, "sbo": 0},
    base_offset_of=base_offset_of,
    read=read,
    unread=unread,
    atom=atom,
    tile=tile,
    feed=feed,
    entry="wgmma.smem",
    transpose={"A": "imm-trans-a", "B": "imm-trans-b"},
    other_home="reg",
    registers="A may come from registers, as tilewise catalog wgmma.A lays them out",
)
"""What commands and checks ask of wgmma."""
