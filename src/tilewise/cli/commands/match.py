"""Whether an engine reads a tile of shared memory, and how: or why not, and what is nearest.

  tilewise match 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --operand B --dtype bf16
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

What a descriptor of yours reads of a tile, byte by byte, is asked with
  tilewise agree 'S[(128, 64) : (64, 1)]' 'descriptor(0x4000004000010000, A)' --dtype bf16

Exit code 0 where the tile is read (or stored), 1 where it is not.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tilewise.cli.addresses import address_from
from tilewise.cli.answer import YES, Answer
from tilewise.cli.arguments import filled_in, layout_from, one_layout
from tilewise.cli.reasons import near_data, refused
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.shapes import extents_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tilewise.check.feeding import Feed
    from tilewise.check.match import Match
    from tilewise.check.operand import Near
    from tilewise.core.layout import Layout

ENGINES = ("wgmma", "tcgen05", "mma")

SHOWN = 8
"""So many steps stand on a line."""

LANES, THREADS = 32, 128
"""Those of a warp, and of a warpgroup."""

OF_MMA = ("shape", "arch", "form", "sparse", "products", "code", "lane")
"""What mma is asked for, and wgmma is not."""

OF_TCGEN05 = ("kind", "m", "cta_group", "sparse", "ws", "k", "lbo_mode", "atomicity")
"""What tcgen05 is asked for, and wgmma is not."""

NUMBERS = {"m": "128", "k": "96", "cta_group": "2", "atomicity": "32"}
"""Those of them that are numbers, each with such a one."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT --operand A|B --dtype T [--engine E] [--base A] [--pattern P] and what each engine is asked."""
    one_layout(parser, shape=None)
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        type=one_engine_of(ENGINES),
        help="the engine that reads (wgmma; with --shape mma)",
    )
    parser.add_argument(
        "--operand", choices=("A", "B", "C", "D"), help="A, [M, K], or B, [N, K]; of mma C, D; of wgmma D"
    )
    described = parser.add_argument_group("wgmma and tcgen05")
    described.add_argument("--major", choices=("k", "mn"), help="refuse the other one")
    described.add_argument("--n", metavar="N", help="N of the instruction (the largest that reads the tile)")
    tcgen05 = parser.add_argument_group("tcgen05")
    of_tcgen05(tcgen05)
    tcgen05.add_argument("--k", metavar="K", help="K of the product, where the kind has several: 64 or 96")
    mma = parser.add_argument_group("mma")
    mma.add_argument("--shape", metavar="S", help="the instruction, such as m16n8k16")
    mma.add_argument("--arch", metavar="A", help="what this architecture has, such as sm_80 (any)")
    mma.add_argument("--form", metavar="F", help="matrices, vectors, or one form such as x4 (the fewest)")
    mma.add_argument(
        "--sparse",
        action="store_true",
        default=None,
        help="A is sparse, as it is stored: [M, K/2]; of tcgen05 as well",
    )
    mma.add_argument("--products", metavar="MxN", help="how the four of sm_70's m8n8k4 lie (2x2)")
    mma.add_argument("--code", action="store_true", help="print CUDA alone: every load or store of the tile")
    mma.add_argument("--lane", metavar="L", help="print the addresses of one lane, 0..31")
    parser.add_argument("--base", metavar="A", help="the address of the tile in shared memory (0)")
    parser.add_argument(
        "--pattern",
        choices=("tile", "address"),
        default="tile",
        help="where the swizzle counts from: the tile, or address 0 as TMA does (tile)",
    )


def one_engine_of(names: Sequence[str]) -> Callable[[str], str]:
    """What reads the name of an engine, one of these."""

    def engine(word: str) -> str:
        if word.lower() in names:
            return word.lower()
        from tilewise.check.operand import known_hint

        raise argparse.ArgumentTypeError(f"{word!r} is no engine, {known_hint(word, names)}")

    return engine


def of_tcgen05(group: argparse._ArgumentGroup) -> None:
    """What only tcgen05 is asked for."""
    group.add_argument("--kind", metavar="KIND", help="the kind of the product (the first with the type)")
    group.add_argument("--m", metavar="M", help="M of the product (the largest that reads the tile)")
    group.add_argument("--cta-group", choices=("1", "2"), help="the CTAs that multiply together (1)")
    group.add_argument("--ws", action="store_true", default=None, help="tcgen05.mma.ws")
    group.add_argument(
        "--lbo-mode", choices=("relative", "absolute"), help="what LBO is: absolute with K = 96 alone"
    )
    group.add_argument(
        "--atomicity", choices=("16", "32"), help="bytes that the swizzle keeps together: 32 of 128B_ATOM_32B"
    )


def answer(args: argparse.Namespace) -> Answer:
    """The descriptors, or the reasons."""
    from tilewise.check.match import Match, Mismatch, match

    args.layout = _told(args)
    args.engine = args.engine or ("mma" if args.shape else "wgmma")
    lane = _checked(args)
    layout = layout_from(args.layout, args, as_counted=True)  # units are match's own question
    args.notes += _turned_in_triton(args, layout)
    found = match(
        layout,
        engine=args.engine,
        operand=args.operand,
        dtype=args.dtype,
        major=args.major,
        n=None if args.n is None else number(args.n, "--n", "64"),
        base=address_from(args.base or "0", "--base"),
        pattern=args.pattern,
        **(_of_mma(args) if "form" in _taken(args) else asked_of_tcgen05(args)),
    )
    asked = {"engine": args.engine, "operand": args.operand, "dtype": DType.of(args.dtype).name}
    if isinstance(found, Match):
        if DType.of(args.dtype).bits < 8:  # the type does not say whether each has a byte of its own
            args.notes.clear()
        return _legal(found, asked).noted(*found.notes)
    if not isinstance(found, Mismatch):
        vectors = f"plain vectors move it: {found.reasons[0].message}" if args.code and found.reasons else ""
        return _moved(found, asked, args.code, lane).noted(vectors)
    operand = f"{asked['operand']} of {asked['dtype']}"
    if args.engine == "mma" or args.operand == "D":
        words = f"a warp does not move it as {operand} for mma.sync"
        if args.engine == "wgmma":
            words = f"a warpgroup does not store it as {operand}"
        return replace(refused(found, asked, words), instead=args.code)
    return refused(found, asked, f"{args.engine} does not read it as {operand}", _near)


def _turned_in_triton(args: argparse.Namespace, layout: Layout) -> list[str]:
    """Return a note that B is [N, K] here, where a text of Triton has it as [K, N]."""
    from tilewise.notation.dialects import dialect_of

    dialect = dialect_of(args.layout)
    if args.operand != "B" or dialect is None or dialect.name not in ("triton", "gluon"):
        return []
    n, k = extents_of(layout.shape)[:2]
    taken = f"B is [N, K]: the text is taken as N = {n} and K = {k}"
    return [f"{taken}; Triton's B is [K, N], which `tilewise algebra permute` turns"]


def _told(args: argparse.Namespace) -> str:
    """The layout, and from an answer in JSON what it is about: of engines, one with descriptors."""
    said = args.engine or ("mma" if args.shape else None)
    about = ("operand", "dtype", "engine", "kind", "cta_group", "lbo_mode", "ws", "sparse")
    text = filled_in(args.layout, args, *about)
    args.ws, args.sparse = bool(args.ws), bool(args.sparse)
    args.engine = said or (None if args.engine == "mma" else args.engine)
    return text


def _checked(args: argparse.Namespace) -> int | None:
    """The lane that is asked for, once nothing is missing and nothing is another engine's."""
    needed = [("operand", "B"), ("dtype", "bf16")] + [("shape", "m16n8k16")] * (args.engine == "mma")
    missing = [(f"--{name}", f"--{name} {such}") for name, such in needed if getattr(args, name) is None]
    if missing:
        names, such = zip(*missing, strict=True)
        raise LayoutError("TW401", f"match needs {' and '.join(names)}", hint=f"such as {' '.join(such)}")
    for name, owner in {**dict.fromkeys(OF_TCGEN05, "tcgen05"), **dict.fromkeys(OF_MMA, "mma")}.items():
        if getattr(args, name) and name not in _taken(args):
            hint = f"say --engine {owner}, or leave --{name.replace('_', '-')} out"
            raise LayoutError("TW601", f"{args.engine} is not asked for {name}", hint=hint)
    if args.code and args.lane is not None:
        raise LayoutError(
            "TW401", "--code is for all lanes, and --lane for one", hint="leave one of them out"
        )
    lane = None if args.lane is None else number(args.lane, "--lane", "17")
    many = LANES if args.engine == "mma" else THREADS
    if lane is not None and not 0 <= lane < many:
        raise LayoutError("TW401", f"a warp has no lane {lane}", hint=f"lanes are 0..{many - 1}")
    return lane


def _moved(found: Feed, asked: dict[str, Any], code: bool, lane: int | None) -> Answer:
    """How a warp moves it: all of the answer, its code alone, or one lane."""
    from tilewise.cli import feeding

    if code:
        return feeding.as_code(found, asked)
    return feeding.moved(found, asked) if lane is None else feeding.of_lane(found, lane, asked)


_OF = {"wgmma": (), "tcgen05": OF_TCGEN05, "mma": OF_MMA}
"""{engine: what it is asked for besides operand, type, N and major}."""


def _taken(args: argparse.Namespace) -> tuple[str, ...]:
    """Return what an engine is asked for besides operand, type, N and major;
    of D how it is stored as well."""
    stored = args.engine == "wgmma" and args.operand == "D"
    return (*_OF[args.engine], *(("form", "code", "lane") if stored else ()))


def asked_of_tcgen05(args: argparse.Namespace) -> dict[str, Any]:
    """What was said that only tcgen05 is asked."""
    said = {name: getattr(args, name, None) for name in OF_TCGEN05}
    return {
        name: number(value, f"--{name.replace('_', '-')}", NUMBERS[name]) if name in NUMBERS else value
        for name, value in said.items()
        if value
    }


def _of_mma(args: argparse.Namespace) -> dict[str, Any]:
    """What was said that only mma is asked."""
    said: dict[str, Any] = {name: getattr(args, name) for name in ("shape", "arch", "form", "sparse")}
    if args.products is not None:
        said["products"] = _grid(args.products, "--products")
    return {name: value for name, value in said.items() if value}


def number(spelled: str, option: str, such: str) -> int:
    """A number as an option spells it."""
    try:
        return int(spelled, 0)
    except ValueError:
        raise LayoutError(
            "TW401", f"{option} {spelled} is no number", hint=f"such as {option} {such}"
        ) from None


def _grid(spelled: str, option: str) -> tuple[int, int]:
    down, _, along = spelled.lower().partition("x")
    try:
        return int(down, 0), int(along, 0)
    except ValueError:
        raise LayoutError("TW401", f"{option} {spelled} is not MxN", hint=f"such as {option} 2x2") from None


# -- yes -------------------------------------------------------------------------------------------


def _legal(found: Match, asked: dict[str, Any]) -> Answer:
    from tilewise.hardware.catalog.confirmed import confirmed_by
    from tilewise.hardware.engines import engine

    m, n, k = found.instruction
    data = {
        "legal": True,
        **asked,
        **found.asked,
        "mode": found.mode.name,
        "major": found.major,
        "trans": found.trans,
        "lbo": found.lbo,
        "sbo": found.sbo,
        "base": found.base,
        "pattern": found.pattern,
        "start": found.descriptor.start,
        "base_offset": found.descriptor.base_offset,
        "value": f"{found.value:#018x}",
        "ignored": list(found.ignored),
        "instruction": {"m": m, "n": n, "k": k},
        "k_steps": found.k_steps,
        "mn_steps": found.mn_steps,
        "alignment": found.alignment,
        "steps": [
            {
                "mn": step.mn,
                "k": step.k,
                "bytes": step.bytes,
                "encoded": step.encoded,
                "value": f"{step.descriptor.value:#018x}",
                "base_offset": step.base_offset,
                **({"lbo": step.descriptor.lbo} if found.lbo_mode == "absolute" else {}),
            }
            for step in found.steps
        ],
        "confirmed": list(confirmed_by(engine(found.engine).entry)),
    }
    return Answer(data, "\n".join(_lines(found)), YES)


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


def _near(near: Near) -> dict[str, Any]:
    return near_data(near) | {"mode": near.mode.name if near.mode else None, "major": near.major}
