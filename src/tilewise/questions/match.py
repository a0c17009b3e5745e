"""Tell if an engine reads a tile of shared memory, and how: or why not, and what is nearest.

  tilewise match 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --operand B --dtype bf16
  tilewise match 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' wgmma.B --dtype bf16
  tilewise match 'Sw<3,4,3> o smem_ptr[16b](0) o (128,64):(64,1)' --operand A --dtype f16 --base 0x400
  tilewise match 'S[(128, 64) : (68, 1)]' --operand B --dtype bf16
  tilewise suggest --operand A --tile 128x64 --dtype bf16 --json | tilewise match -
  tilewise match 'Swizzle<2,3,2> o S[(32, 32) : (1, 32)]' --engine tcgen05 --operand B --dtype tf32
  tilewise match 'SWIZZLE_128B o S[(64, 64) : (64, 1)]' --engine tcgen05 --operand A --dtype f16 --cta-group 2
  tilewise match 'S[(64, 64) : (72, 1)]' --engine mma --operand A --shape m16n8k16 --dtype f16
  tilewise match 'S[(64, 64) : (72, 1)]' --engine mma --operand A --shape m16n8k16 --dtype f16 --code
  tilewise match 'SWIZZLE_128B o S[(128, 64) : (64, 1)]' --operand D --dtype bf16

LAYOUT is [M, K] of A or [N, K] of B, in either dialect, recognised by what it maps and not by how it is
written. It counts from the address --base, and so does its swizzle, unless --pattern address says that it
counts from address 0, as TMA's does.

wgmma's answer is descriptors. --n asks for one N; without it the largest is taken that reads the tile.
--major refuses the other one.

tcgen05's is descriptors too, of what one CTA has in its shared memory: with --cta-group 2 half of the rows
of A and half of those of B. --kind names the kind of the product, where the type has several; --m and --n
ask for its size. --lbo-mode absolute is that of K = 96, 48 bytes in one chunk or in two.

mma's answer is the ldmatrix, or the plain loads, with which a warp brings the tile into the registers of
mma.sync, and for D [M, N] the stmatrix or the stores: the address of every lane as a layout and as code.
--shape alone means it too. --form asks for matrices, vectors, or one form such as x2, and --arch for what
that architecture has. With --form matrices the answer is no where only vectors move the tile.

wgmma's --operand D, [M, N], asks how its warpgroup stores the accumulator: the type is that in memory, and
lanes are the 128 threads.

For mma and for D of wgmma --code prints CUDA alone, with every load of the tile, and --lane 17 what that
lane gives and gets.

To see byte by byte what a descriptor of yours reads of a tile:
  tilewise agree 'S[(128, 64) : (64, 1)]' 'descriptor(0x4000004000010000, A)' --dtype bf16

Exit code 0 where the tile is read (or stored), 1 where it is not.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.shapes import extents_of
from tilewise.questions.addresses import address_in
from tilewise.questions.asking import LAYOUT, asks, option_of
from tilewise.questions.engines import MAJOR, OF_TCGEN05, N, asked_for, no_engine, reader_in, step_fields
from tilewise.questions.report import Report, fields_of
from tilewise.questions.texts import Texts, misused, number_in, refuse_missing, sizes_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal, Unpack

    from tilewise.check.feeding import Feed
    from tilewise.check.match import Match, Mismatch
    from tilewise.core.layout import Layout
    from tilewise.questions.asking import LayoutText, Number, TextOptions, Type, Word

ENGINES = ("wgmma", "tcgen05", "mma")

SHOWN = 8
"""So many steps stand on a line."""

LANES, THREADS = 32, 128
"""Those of a warp, and of a warpgroup."""

OF_MMA = {
    "shape": "S: the instruction, such as m16n8k16",
    "arch": "A: what this architecture has, such as sm_80 (any)",
    "form": "F: matrices, vectors, or one form such as x4 (the fewest)",
    "sparse": "A is sparse, as it is stored: [M, K/2]; of tcgen05 as well",
    "products": "MxN: how the four of sm_70's m8n8k4 lie (2x2)",
    "code": "print CUDA alone: every load or store of the tile",
    "lane": "L: print the addresses of one lane, 0..31",
}
"""{an option that mma takes, and wgmma does not: its help}."""

TAKES = {"wgmma": (), "tcgen05": (*OF_TCGEN05, "sparse"), "mma": (*OF_MMA,)}
"""{engine: its options besides operand, type, N and major}."""

TOLD = ("operand", "dtype", "engine", "kind", "cta_group", "lbo_mode", "ws", "sparse")
"""The fields of an answer in JSON."""


@asks(
    {"wgmma and tcgen05": {"major": MAJOR, "n": N}, "tcgen05": OF_TCGEN05, "mma": OF_MMA},
    layout=LAYOUT,
    engine="--engine ENGINE: wgmma, tcgen05 or mma (wgmma; with --shape mma), or with its operand wgmma.B",
    operand="A, [M, K], or B, [N, K]; of mma C, D; of wgmma D",
    base="A: the address of the tile in shared memory (0)",
    pattern="where the swizzle counts from: the tile, or address 0 as TMA does (tile)",
)
def match(
    layout: LayoutText,
    engine: Word | None = None,
    dtype: Type | None = None,
    *,
    operand: Literal["A", "B", "C", "D"] | None = None,
    base: Number | None = None,
    pattern: Literal["tile", "address"] = "tile",
    major: Literal["k", "mn"] | None = None,
    n: Number | None = None,
    kind: str | None = None,
    m: Number | None = None,
    cta_group: Literal["1", "2"] | int | None = None,
    ws: bool = False,
    lbo_mode: Literal["relative", "absolute"] | None = None,
    atomicity: Literal["16", "32"] | int | None = None,
    k: Number | None = None,
    shape: str | None = None,
    arch: str | None = None,
    form: str | None = None,
    sparse: bool = False,
    products: str | Sequence[int] | None = None,
    code: bool = False,
    lane: Number | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return yes with how an engine takes a tile, or no with the reasons and the nearest tiles that it takes.

    Of wgmma and tcgen05 the report has the `mode`, the `instruction`, the descriptor (`value`) and the
    `steps`; of mma the `form`, the `addresses` of the lanes, the `steps` and their `code`.

    >>> match("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "wgmma.B", "bf16").value
    '0x4000004000010000'
    """
    from tilewise.check.match import Match, Mismatch
    from tilewise.check.match import match as found_by

    given = dict(locals())
    texts = Texts(dtype, own_shape=True, **reading)
    name, letter = reader_in(engine, operand)
    if name is not None and name not in ENGINES:
        raise no_engine(name, ENGINES)
    text, told = texts.told_by(layout, *TOLD)
    if name is None:
        by_words = "mma" if shape else told.get("engine", "wgmma")
        name = "wgmma" if by_words == "mma" and not shape else by_words
    letter = letter or told.get("operand")
    needed = {"operand": letter, "dtype": texts.dtype} | ({"shape": shape} if name == "mma" else {})
    refuse_missing("match", needed, {"operand": "B", "dtype": "bf16", "shape": "m16n8k16"})
    options = asked_for({option: given[option] for option in (*OF_TCGEN05, *OF_MMA)}, told)
    if products:
        options["products"] = sizes_in("--products", products, "MxN", "--products 2x2")
    stores = name == "wgmma" and letter == "D"
    _refuse_others(name, options, ("form", "code", "lane") if stores else ())
    asked_lane = _lane(options, LANES if name == "mma" else THREADS)
    tile = texts.layout(text, as_counted=True)  # units are the question of match itself
    _note_triton(texts, layout, letter, tile)
    found = found_by(
        tile,
        engine=name,
        operand=letter or "",
        dtype=texts.dtype,
        major=major,
        n=None if n is None else number_in(n, "--n", "number", "--n 64"),
        base=address_in(base),
        pattern=pattern,
        **{option: value for option, value in options.items() if option not in ("code", "lane")},
    )
    asked = {"engine": name, "operand": letter, "dtype": DType.of(texts.dtype).name}
    if isinstance(found, Match):
        if DType.of(texts.dtype).bits < 8:  # the type does not say whether each has a byte of its own
            texts.notes.clear()
        return texts.report(_legal(found, asked), "\n".join(_lines(found))).noted(*found.notes)
    if isinstance(found, Mismatch):
        return texts.reported(_refused(found, asked, code))
    return texts.reported(_moved(found, asked, code, asked_lane))


def _refuse_others(engine: str, given: dict[str, Any], stored: Sequence[str]) -> None:
    """Refuse options of another engine; D of wgmma takes the one of its storage."""
    for name in given:
        if name not in (*TAKES.get(engine, ()), *stored):
            owner = next(own for own in ("mma", "tcgen05") if name in TAKES[own])
            hint = f"say --engine {owner}, or leave {option_of(name)} out"
            raise LayoutError("TW601", f"{engine} takes no {name}", hint=hint)


def _lane(given: dict[str, Any], lanes: int) -> int | None:
    """Return the lane of the question, or None."""
    if "lane" not in given:
        return None
    if "code" in given:
        raise misused("--code is for all lanes, and --lane for one", "leave one of them out")
    lane = number_in(given["lane"], "--lane", "number", "--lane 17")
    if not 0 <= lane < lanes:
        raise misused(f"a warp has no lane {lane}", f"lanes are 0..{lanes - 1}")
    return lane


def _note_triton(texts: Texts, layout: LayoutText, operand: str | None, tile: Layout) -> None:
    """Note that B is [N, K] here, where a text of Triton has it as [K, N]."""
    from tilewise.notation.dialects import dialect_of

    dialect = dialect_of(layout) if isinstance(layout, str) else None
    if operand == "B" and dialect is not None and dialect.name in ("triton", "gluon"):
        n, k = extents_of(tile.shape)[:2]
        taken = f"B is [N, K]: the text is taken as N = {n} and K = {k}"
        texts.note(f"{taken}; Triton's B is [K, N], which `tilewise algebra permute` turns")


# -- yes -------------------------------------------------------------------------------------------


def _moved(found: Feed, asked: dict[str, Any], code: bool, lane: int | None) -> Report:
    """Return how a warp moves the tile: all of the answer, its code alone, or one lane."""
    from tilewise.questions import feeding

    fields = {"legal": True, **asked, "shape": found.shape}
    if lane is not None:
        of_lane, lines = feeding.of_lane(found, lane)
        return Report(fields | of_lane, "\n".join(lines))
    if code:
        from tilewise.codegen.feeding import source_of_tile

        source = source_of_tile(found)
        vectors = [f"plain vectors move it: {reason.message}" for reason in found.reasons[:1]]
        return Report({**fields, "source": source}, source).noted(*vectors)
    fields |= feeding.fields_of_moves(found)
    lines = [*feeding.lines_of_moves(found, fields)]
    if found.reasons:
        form = "ldmatrix" if found.operand != "D" else "stmatrix"
        lines += [f"no form of {form} moves it:", *_reason_lines(found)]
    return Report(fields | _reason_fields(found), "\n".join(lines))


def _legal(found: Match, asked: dict[str, Any]) -> dict[str, Any]:
    from tilewise.hardware.catalog.confirmed import confirmed_by
    from tilewise.hardware.engines import engine

    absolute = found.lbo_mode == "absolute"
    return {
        "legal": True,
        **asked,
        **found.asked,
        "mode": found.mode.name,
        **fields_of(found, "major", "trans", "lbo", "sbo", "base", "pattern"),
        **fields_of(found.descriptor, "start", "base_offset"),
        "value": f"{found.value:#018x}",
        "ignored": found.ignored,
        "instruction": dict(zip("mnk", found.instruction, strict=True)),
        **fields_of(found, "k_steps", "mn_steps", "alignment"),
        "steps": [
            step_fields(step) | ({"lbo": step.descriptor.lbo} if absolute else {}) for step in found.steps
        ],
        "confirmed": confirmed_by(engine(found.engine).entry),
    }


def _lines(found: Match) -> Iterator[str]:
    from tilewise.check.operand import major_name, mode_name
    from tilewise.hardware.engines import engine

    m, n, k = found.instruction
    rows = "M" if found.operand == "A" else "N"
    yield (
        f"{found.engine} reads it as {found.operand} of {found.dtype}: {major_name(found.major)}, "
        f"{mode_name(found.mode)}, {engine(found.engine).transpose[found.operand]} {found.trans}"
    )
    first = found.descriptor
    start = f"start {first.start:#x}, " if first.start else ""
    offset = f", base offset {first.base_offset}" if first.base_offset else ""
    yield f"  descriptor   {found.value:#018x}: {start}{_field(found, 'lbo')}, {_field(found, 'sbo')}{offset}"
    steps = f"{found.k_steps} along K" + (f" x {found.mn_steps} along {rows}" if found.mn_steps > 1 else "")
    which = f" {found.product}" if found.product else ""
    yield f"  instruction  m{m or 'M'}n{n or 'N'}k{k}{which}, {steps}"
    along_k = [step.bytes for step in found.steps if step.mn == 0]
    along_mn = [step.bytes for step in found.steps if step.k == 0]
    yield f"  along K      start + {_listed(along_k)}"
    if found.mn_steps > 1:
        yield f"  along {rows}      start + {_listed(along_mn)}"
    if found.lbo_mode == "absolute":
        yield f"  LBO          {_listed([step.descriptor.lbo for step in found.steps if step.mn == 0])}"
    yield f"  address      {_alignment(found)}"


def _field(found: Match, name: str) -> str:
    value = getattr(found, name)
    if value is not None:
        return f"{name.upper()} {value} B"
    if name not in found.ignored:
        return f"{name.upper()} an address, that of the row where a step ends"
    return f"{name.upper()} not read ({getattr(found.descriptor, name) // 16} is written)"


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:SHOWN]))
    return shown + (f", ... {numbers[-1]}" if len(numbers) > SHOWN else "") + " B"


def _alignment(found: Match) -> str:
    text = f"a multiple of {found.alignment} B"
    if not found.mode.bits:
        return f"{text} (128 B where TMA writes the tile)"
    if found.pattern == "address":
        return f"{text}: the swizzle counts from address 0, and the base offset is 0"
    offset = found.descriptor.base_offset
    if offset:
        return f"{text}, or base offset {offset} as here: the pattern starts with the tile"
    return f"{text}: the pattern starts with the tile, and the base offset is 0"


# -- no --------------------------------------------------------------------------------------------


def _refused(found: Mismatch, asked: dict[str, Any], code: bool) -> Report:
    """Return a no with its reasons and the nearest tiles; where code is wanted the text is instead of it."""
    operand = f"{asked['operand']} of {asked['dtype']}"
    described = asked["engine"] != "mma" and asked["operand"] != "D"
    what = f"{asked['engine']} does not read it as {operand}"
    if asked["engine"] == "mma":
        what = f"a warp does not move it as {operand} for mma.sync"
    elif not described:
        what = f"a warpgroup does not store it as {operand}"
    first = fields_of(found.reasons[0], "message", "witness")
    fields = {
        "legal": False,
        **asked,
        "code": "TW605",
        "reason": first["message"],
        "witness": first["witness"],
        **_reason_fields(found, described),
    }
    lines = [f"no: {what}", *_reason_lines(found)]
    return Report(fields, "\n".join(lines), False, instead=code)


def _reason_fields(found: Mismatch | Feed, described: bool = False) -> dict[str, Any]:
    """Return why a tile is not taken, and the nearest ones that are; with what a descriptor says of them."""
    nearest = []
    for near in found.nearest:
        of_descriptor = {"mode": near.mode and near.mode.name, "major": near.major} if described else {}
        nearest.append(fields_of(near, "layout", "cost", "message", "moved") | of_descriptor)
    reasons = [fields_of(reason, "rule", "message", "witness", "hint") for reason in found.reasons]
    return {"reasons": reasons, "nearest": nearest}


def _reason_lines(found: Mismatch | Feed) -> Iterator[str]:
    """Yield the same for people, who read whether the addresses of near tiles count from their own."""
    for reason in found.reasons:
        yield f"  {reason.rule}: {reason.message}"
        if reason.hint:
            yield f"    {reason.hint}"
    if found.nearest:
        yield f"nearest, in elements{' from address 0' if found.folded else ''}:"
    for near in found.nearest:
        yield f"  {near.layout}"
        yield f"    {near.cost}: {near.message}"
