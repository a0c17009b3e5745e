"""tcgen05 as an engine of shared-memory descriptors: its fields, and the functions that commands call."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.engines import Engine, Intake
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, mode_of
from tilewise.hardware.operands.majors import MAJORS, OPERANDS, check_operand
from tilewise.hardware.operands.stepping import Taken
from tilewise.hardware.operands.strides import BASE_UNIT, LIMIT, SWIZZLED_K_MAJOR_LBO, base_offset_of
from tilewise.hardware.operands.tiles import ORDERS, atom, tile
from tilewise.hardware.tcgen05 import reads, stepping, words
from tilewise.hardware.tcgen05.descriptor import (
    ABSOLUTE,
    FIELDS,
    LBO_MODES,
    RELATIVE,
    SOURCE,
    Descriptor,
    made,
    reserved_bits,
)
from tilewise.hardware.tcgen05.kinds import DEEP_K, KINDS, Kind, kind_of
from tilewise.hardware.tcgen05.operand import Operand, modes_of, no_major
from tilewise.hardware.tcgen05.stepping import PATTERNS, Feeding, Stages, placements


def default_lbo(mode: Mode | str, major: str) -> int | None:
    """The LBO of a descriptor for which none was given, where there is a custom; None where it is read."""
    return SWIZZLED_K_MAJOR_LBO if major == "k" and mode_of(mode).bits else None


def intake(
    dtype: DType | str,
    operand: str,
    kind: str = "",
    m: int | None = None,
    n: int | None = None,
    cta_group: int = 1,
    sparse: bool = False,
    ws: bool = False,
    k: int | None = None,
    lbo_mode: str | None = None,
    atomicity: int | None = None,
) -> Intake:
    """What a product takes of an operand in one CTA.

    LBO mode absolute is that of K = 96, and asks for it; an atomicity leaves the modes that have it.

    >>> of_a = intake("bf16", "A", cta_group=2)
    >>> of_a.rows, of_a.k, of_a.shape(128), of_a.majors
    ((64, 128), 16, (256, None, 16), ('k', 'mn'))
    >>> intake("e2m1", "B", kind="mxf4", n=64, k=96).absolute
    True
    >>> intake("tf32", "A", atomicity=32).majors
    ('mn',)
    """
    which = Kind.of(kind) if kind else kind_of(dtype)
    k = _deep(which, k, lbo_mode)
    taken = stepping.taken(
        dtype,
        check_operand(operand),
        m=m,
        n=n,
        kind=which.name,
        cta_group=cta_group,
        sparse=sparse,
        ws=ws,
        depth=k,
    )
    absolute = taken.bytes == reads.DEEP_BYTES
    return Intake(
        operand=operand,
        name=taken.name,
        dtype=taken.dtype,
        k=taken.depth,
        rows=taken.legal,
        modes=_of_atomicity({major: _modes(taken, major) for major in which.majors(dtype)}, atomicity),
        m=m,
        n=n,
        whole_k=k or which.depth(sparse),
        ctas=cta_group,
        product=f"tcgen05.mma of kind::{which.name}",
        no_major=_no_major(which, dtype, atomicity),
        fixed={"lbo_mode": ABSOLUTE} if absolute else {},
        absolute=absolute,
    )


def _deep(kind: Kind, k: int | None, lbo_mode: str | None) -> int | None:
    """K of a product in that mode of LBO."""
    if lbo_mode not in (None, *LBO_MODES):
        raise LayoutError("TW601", f"{lbo_mode!r} is no mode of LBO", hint="known: " + " ".join(LBO_MODES))
    if lbo_mode == ABSOLUTE and k is None:
        return DEEP_K
    if lbo_mode is not None and (lbo_mode == ABSOLUTE) != (k == DEEP_K):
        raise Refused(
            "TW602",
            f"a product of kind::{kind.name} with K = {k or kind.depth()} is not in LBO mode {lbo_mode}",
            witness={"kind": kind.name, "k": k or kind.depth(), "lbo_mode": lbo_mode},
            hint=f"K = {DEEP_K}, which is 48 bytes, is in mode {ABSOLUTE}, and every other in {RELATIVE}",
        )
    return k


def _of_atomicity(modes: dict[str, tuple[Mode, ...]], atomicity: int | None) -> dict[str, tuple[Mode, ...]]:
    """The modes that keep so many bytes together, and the majors that have such."""
    if atomicity is None:
        return modes
    kept = {major: tuple(mode for mode in own if mode.keeps == atomicity) for major, own in modes.items()}
    if not any(kept.values()):
        raise Refused(
            "TW602",
            f"no mode that is read here keeps {atomicity} bytes together",
            witness={"atomicity": atomicity},
            hint="32 bytes are kept together in MN-major operands of 32 bits, and 16 in all others",
        )
    return {major: own for major, own in kept.items() if own}


def _no_major(kind: Kind, dtype: DType | str, atomicity: int | None) -> tuple[str, str]:
    """Why a major is not read, and what to do; of both that are, why not in such an atomicity."""
    reason, instead = no_major(kind, dtype)
    if reason or atomicity is None:
        return reason, instead
    other = "MN-major" if atomicity == CHUNK else "K-major"
    return f"tcgen05 reads {dtype} {other} in no mode that keeps {atomicity} bytes together", (
        "32 bytes are kept together in MN-major operands of 32 bits, and 16 in all others"
    )


def _modes(taken: Taken, major: str) -> tuple[Mode, ...]:
    """The modes in which a K so deep is read: K-major, one that a row of the atom has room for."""
    legal = modes_of(taken.dtype, major)
    if major == "mn":
        return legal
    if taken.bytes == reads.DEEP_BYTES:
        return tuple(mode for mode in legal if mode.name == "128B")
    return tuple(mode for mode in legal if not mode.bits or taken.bytes <= mode.width)


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
    """The descriptors of a tile for products of `one` row count, or of the most rows that feed it.

    >>> feed(intake("bf16", "B"), mode_of("128B"), "k", 96, 64, "mn").n
    96
    """
    of = Taken(intake.operand, intake.name, intake.dtype, intake.k, intake.rows, stepping.USUAL)
    return stepping.feed(of, mode, major, rows, k, order, one=one, base=base, pattern=pattern)


ENGINE = Engine(
    name="tcgen05",
    fields=FIELDS,
    source=SOURCE,
    majors=MAJORS,
    operands=OPERANDS,
    shared_end=reads.SHARED_END,
    descriptor=made,
    made_of=("lbo_mode", "atomicity", "major"),
    decode=Descriptor.decode,
    reserved=reserved_bits,
    default_lbo=default_lbo,
    operand=Operand,
    words=words.words,
    ignored=words.ignored,
    remarks=words.remarks,
    pieces=reads.pieces,
    addresses=reads.addresses,
    extremes=reads.extremes,
    stages=Stages,
    placements=placements,
    types=tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.types)),
    options=("kind", "m", "n", "cta_group", "sparse", "ws", "k", "lbo_mode", "atomicity"),
    sizes=("m", "n"),
    intake=intake,
    modes=BLACKWELL,
    orders=ORDERS,
    patterns=PATTERNS,
    limit=LIMIT,
    base_unit=BASE_UNIT,
    carries=False,
    spare={"lbo": SWIZZLED_K_MAJOR_LBO, "sbo": 0},
    base_offset_of=base_offset_of,
    read=reads.pieces_of,
    unread=reads.unread_of,
    atom=atom,
    tile=tile,
    feed=feed,
    entry="tcgen05.smem",
    transpose={"A": "transpose A (idesc bit 15)", "B": "transpose B (idesc bit 16)"},
    other_home="TCol",
    registers="A may come from tensor memory, as tilewise catalog tcgen05.A lays it out",
    majors_of=words.majors_of,
)
"""What commands and checks ask of tcgen05."""
